"""Time to the minimum: lazyglm's Newton solver against those that find it too. See README.md in the folder above."""
