import type { RolloutState } from "./rollout-state.js";

export function rolloutLines(state: RolloutState): readonly string[] {
  const { name, phase, wave, waves, agents, message, digest } = state;
  const percent = waves[wave - 1];
  const isUnderWay = phase === "Progressing" || phase === "Paused" || phase === "Halted";
  const share = percent === undefined ? "" : `, ${percent} % of the agents`;
  const where = isUnderWay
    ? wave === 0
      ? ", before the first wave"
      : `, wave ${wave} of ${waves.length}${share}`
    : "";
  const refusing = agents.refusing === 0 ? "" : `; ${agents.refusing} refuse some of their flags`;
  return [
    `${name} ${digest.slice(0, 12)}: ${phase === "AtOnce" ? "at once" : phase}${where}`,
    `  ${message}`,
    `  ${agents.current} of ${agents.total} agents have it${refusing}.`,
  ];
}
