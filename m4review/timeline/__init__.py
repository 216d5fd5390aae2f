"""Where one value comes from: the stay, its events, the arithmetic, the agent's SQL."""
