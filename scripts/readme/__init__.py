"""Parts of README.md."""
