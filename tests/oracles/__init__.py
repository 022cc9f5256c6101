"""Independent implementations that the library is held against."""
