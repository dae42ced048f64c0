"""Batch normalisation that sees real pairs only."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MaskedBatchNorm(nn.Module):
    """Standardise each feature over the unmasked rows of the batch; padding never counts.

    Part of the `released` variant. In training the statistics are those of the batch, in
    evaluation the running ones; unlike in `torch.nn.BatchNorm1d` both use the biased variance.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, features: int, momentum: float = 0.1, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.momentum = momentum
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Normalise x (B,P,F); mask (B,P,1) is one on rows that count."""
        if self.training:
            count = mask.sum().clamp_min(1)
            mean = (x * mask).sum((0, 1)) / count
            var = ((x - mean).square() * mask).sum((0, 1)) / count
            with torch.no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
                self.running_var.lerp_(var.to(self.running_var.dtype), self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight / (var + self.epsilon).sqrt()
        return (x - mean) * scale + self.bias
