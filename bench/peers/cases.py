# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of the bench: which model, at which sizes, with which optimizer."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    net: str  # the class of torch_models.py and the function of jax_models.py
    at: dict  # sizes of the graph's symbols
    zoo: tuple = ()  # model and size of examples/models,
    file: str = ""  # or a file of bench/models
    optimizer: str = "adamw"  # "none": gradients alone
    rate: float = 1e-4
    facts: dict = field(default_factory=dict)  # what shapes do not tell; channels_last where PyTorch is faster so
    draws: bool = False  # at random, each contender its own numbers: losses agree roughly
    quick: dict = field(default_factory=dict)  # what is different with --quick
    targets: dict = field(default_factory=dict)  # times a contender's: at most

    def update(self):
        """As gradcut's --optimizer has it; weight_decay and the betas are PyTorch's defaults."""
        return "none" if self.optimizer == "none" else f"adamw(lr={self.rate:g}, weight_decay=0.01)"

    def small(self):
        return replace(self, name=self.name + "-quick", title=self.title + " (stand-in)", targets={}, **self.quick)


# A batch is learned by heart when a step is repeated a thousand times; where steps are that short, the rate keeps
# it from happening, and the moments of the optimizer from becoming subnormal.
CASES = [
    Case("mlp-tiny", "MLP 16-32-4, B=1", "MLP", {"N": 1}, zoo=("mlp", "16-32-4"), rate=1e-6,
         targets={"peer": 0.05}),
    Case("mlp-64", "MLP 784-500-10, B=64", "MLP", {"N": 64}, zoo=("mlp", "784-500-10"), rate=1e-6,
         quick={"at": {"N": 8}}, targets={"peer": 0.5}),
    Case("mlp-500", "MLP 784-500-10, B=500", "MLP", {"N": 500}, zoo=("mlp", "784-500-10"), rate=1e-5,
         quick={"at": {"N": 16}}, targets={"peer": 0.85, "floor": 1.15}),
    Case("cnn-500", "CNN 8-16 channels, 28x28, B=500", "CNN", {"N": 500}, file="cnn.gcut", rate=1e-5,
         facts={"channels_last": True},
         quick={"at": {"N": 8}}, targets={"peer": 0.35}),
    Case("lstm", "LSTM I128 H256 V65, B=32 T=64", "LSTM", {"N": 32, "T": 64}, zoo=("lstm", "characters"), rate=1e-5,
         quick={"at": {"N": 4, "T": 5}}, targets={"peer": 0.8}),
    Case("chain", "20 elementwise ops, 16M floats", "Chain", {"N": 1 << 24}, file="chain.gcut", optimizer="none",
         quick={"at": {"N": 1 << 16}}, targets={"peer": 0.6}),
    Case("gpt-6x384", "GPT 6x384 V65, B=8 T=256", "GPT", {"N": 8, "T": 256}, zoo=("gpt2", "6x384"), facts={"heads": 6},
         quick={"zoo": ("gpt2", "tiny"), "facts": {"heads": 2}, "at": {"N": 2, "T": 7}},
         targets={"peer": 0.9, "floor": 1.15}),
    Case("gpt2-64", "GPT-2 124M, B=4 T=64", "GPT", {"N": 4, "T": 64}, zoo=("gpt2", "124M"), facts={"heads": 12},
         quick={"zoo": ("gpt2", "tiny"), "facts": {"heads": 2}, "at": {"N": 2, "T": 4}},
         targets={"peer": 0.9, "floor": 1.15}),
    Case("gpt2-256", "GPT-2 124M, B=4 T=256", "GPT", {"N": 4, "T": 256}, zoo=("gpt2", "124M"), facts={"heads": 12},
         quick={"zoo": ("gpt2", "tiny"), "facts": {"heads": 2}, "at": {"N": 2, "T": 16}},
         targets={"peer": 0.9, "floor": 1.15}),
    Case("vit-s16", "ViT-S/16, 224x224, B=8", "ViT", {"N": 8}, zoo=("vit", "S/16"), facts={"heads": 6, "patch": 16},
         quick={"zoo": ("vit", "tiny"), "facts": {"heads": 2, "patch": 4}, "at": {"N": 2}},
         targets={"peer": 0.9, "floor": 1.15}),
    Case("resnet-18", "ResNet-18 for CIFAR, B=32", "ResNet", {"N": 32}, zoo=("resnet", "18-cifar"),
         facts={"channels_last": True},
         quick={"zoo": ("resnet", "tiny"), "at": {"N": 4}}, targets={"peer": 0.8}),
    Case("mobilenet", "MobileNetV2 for CIFAR, B=32", "MobileNet", {"N": 32}, zoo=("mobilenet", "cifar"),
         facts={"channels_last": True, "halving": [3, 6, 13]},
         quick={"zoo": ("mobilenet", "tiny"), "facts": {"halving": [1]}, "at": {"N": 4}}),
    Case("unet", "U-Net 64x64, 16 channels, B=8", "UNet", {"N": 8}, zoo=("unet", "64"), facts={"channels_last": True},
         quick={"zoo": ("unet", "tiny"), "at": {"N": 2}}),
    Case("bert", "BERT 2x128, B=8 T=128", "BERT", {"N": 8, "T": 128}, zoo=("bert", "small"),
         facts={"heads": 2, "dropped": 0.1}, draws=True,
         quick={"zoo": ("bert", "tiny"), "at": {"N": 2, "T": 7}}),
    Case("llama", "Llama 15M, B=8 T=256", "Llama", {"N": 8, "T": 256}, zoo=("llama", "15M"),
         facts={"heads": 6, "context": 256},
         quick={"zoo": ("llama", "tiny"), "facts": {"heads": 4, "context": 16}, "at": {"N": 2, "T": 7}}),
]
