"""Names and titles of the experiments, in the order of the results page."""

TITLES = {
    "table1": "Table 1: learning graph algorithms edge by edge",
    "table2": "Table 2: MMD of samples, with published values and floors",
    "table3": "Table 3: ablation of learnable adjacency and several channels",
    "figure2": "Figure 2: intermediate adjacency channels",
    "figure3": "Figure 3 and appendix: samples, valid lobsters, a Langevin trajectory",
    "theorem1": "Theorem 1: likelihoods do not depend on the order of the nodes",
    "training-budget": "How long and how wide to train EDP-GNN, chosen on validation graphs",
    "denoiser-benchmark": "The denoiser on seven datasets, SBM twice: quality, calls, time",
    "denoiser-ablation": "What each part of the denoiser contributes",
    "molecules": "Molecules: QM9, ZINC250k and MOSES, valid, FCD and NSPDK, calls, time",
    "attributes": "Weighted graphs against the true generator; labelled graphs against test graphs",
    "invalid-reasons": "Why samples of the pretrained models are not valid",
}
"""The experiment NAME is in `reproduce/experiments`, its plan in `plans`, its page in
`templates`."""
