from __future__ import annotations

import pytest

pytest.importorskip("matplotlib", reason="figures need the extra `figures`")
pytest.importorskip("mne", reason="figures need the extra `figures`")
