"""The digits network in PyTorch.

Read this for what the network computes, `export.py` for how each module becomes ONNX nodes. Module names become node
names there, so renaming a module renames layers that users type.
"""
import torch
from torch import nn
from torch.nn import functional

CONTRAST_EPSILON = 1e-8  # far below what a pixel count can cause; also below the smallest float16, 6e-8
FEATURE_EPSILON = 1e-5
CHANNELS = 12
FEATURES = 32
CLASSES = 10
IMAGE_SIDE = 8


def local_contrast(counts: torch.Tensor) -> torch.Tensor:
    """(x - m) / sqrt(mean((x - m)^2) + epsilon), with m the mean of the 3x3 neighbourhood; [N,1,8,8] to [N,1,8,8].

    Neighbours outside the image do not count. On a flat patch both x - m and the variance are zero, so the answer is zero
    only thanks to epsilon.
    """
    def neighbourhood_mean(t):
        return functional.avg_pool2d(t, 3, stride=1, padding=1, count_include_pad=False)

    centered = counts - neighbourhood_mean(counts)
    variance = neighbourhood_mean(centered * centered)
    return centered / torch.sqrt(variance + CONTRAST_EPSILON)


def block_energy(counts: torch.Tensor) -> torch.Tensor:
    """Sum of squared counts over each 2x2 block, 0 to 1024; [N,1,8,8] to [N,1,4,4]."""
    return functional.avg_pool2d(counts * counts, 2) * 4


def normalize_features(features: torch.Tensor) -> torch.Tensor:
    """Layer normalization over the last axis without learned scale; [N,C] to [N,C]."""
    centered = features - features.mean(-1, keepdim=True)
    variance = (centered * centered).mean(-1, keepdim=True)
    return centered / torch.sqrt(variance + FEATURE_EPSILON)


class Block(nn.Module):
    """Inverted residual: 1x1 expand, 3x3 depthwise, 1x1 project; adds its input when the shape does not change."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, expansion: int = 3):
        super().__init__()
        hidden = inputs * expansion
        self.expand_conv = nn.Conv2d(inputs, hidden, 1, bias=False)
        self.expand_bn = nn.BatchNorm2d(hidden)
        self.depthwise_conv = nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False)
        self.depthwise_bn = nn.BatchNorm2d(hidden)
        self.project_conv = nn.Conv2d(hidden, outputs, 1, bias=False)
        self.project_bn = nn.BatchNorm2d(outputs)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = torch.relu(self.expand_bn(self.expand_conv(x)))
        y = torch.relu(self.depthwise_bn(self.depthwise_conv(y)))
        y = self.project_bn(self.project_conv(y))
        return x + y if self.residual else y


class Digits(nn.Module):
    """Logits [N,10] of pixel counts [N,1,8,8], each 0 to 16 and not normalized.

    Halfway, the image comes in again beside the learned features, as the energy of 2x2 blocks (reinforcing the input is
    common in segmentation networks). Before the classifier stand normalized features beside the sums of counts over rows
    and columns, old and good features of handwriting. In float neither needs scaling, because the weights learn it.
    """

    def __init__(self):
        super().__init__()
        self.stem_conv = nn.Conv2d(2, CHANNELS, 3, padding=1, bias=False)
        self.stem_bn = nn.BatchNorm2d(CHANNELS)
        self.block1 = Block(CHANNELS, CHANNELS)
        self.block2 = Block(CHANNELS, CHANNELS)
        self.block3 = Block(CHANNELS, 2 * CHANNELS, stride=2)
        self.block4 = Block(2 * CHANNELS + 1, 2 * CHANNELS, expansion=2)
        self.block5 = Block(2 * CHANNELS, 2 * CHANNELS, expansion=2)
        self.head_conv = nn.Conv2d(2 * CHANNELS, FEATURES, 1, bias=False)
        self.head_bn = nn.BatchNorm2d(FEATURES)
        self.hidden = nn.Linear(FEATURES + 2 * IMAGE_SIDE, FEATURES)
        self.classifier = nn.Linear(FEATURES, CLASSES)

    def forward(self, counts):
        x = torch.cat([counts, local_contrast(counts)], dim=1)
        x = torch.relu(self.stem_bn(self.stem_conv(x)))
        x = self.block3(self.block2(self.block1(x)))
        x = self.block5(self.block4(torch.cat([x, block_energy(counts)], dim=1)))
        x = torch.relu(self.head_bn(self.head_conv(x)))
        features = normalize_features(x.mean((2, 3)))
        rows, columns = counts.sum(3).flatten(1), counts.sum(2).flatten(1)
        x = torch.cat([features, rows, columns], dim=1)
        return self.classifier(torch.relu(self.hidden(x)))
