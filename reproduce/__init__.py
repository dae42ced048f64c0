"""The experiments of the paper and of the denoiser, run by `python -m reproduce`."""
