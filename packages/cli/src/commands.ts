import type { CommandEntry } from "./command.js";

export const commands: readonly CommandEntry[] = [
  {
    name: "lint",
    summary: "check FeatureFlag manifests and flagd files",
    load: async () => (await import("./lint/lint-command.js")).lintCommand,
  },
  {
    name: "eval",
    summary: "evaluate a flag of a file, and show which way its rule took",
    load: async () => (await import("./evaluate/eval-command.js")).evalCommand,
  },
  {
    name: "diff",
    summary: "show which flags differ between files, directories or a proxy",
    load: async () => (await import("./diff/diff-command.js")).diffCommand,
  },
  {
    name: "tail",
    summary: "subscribe to a FeatureFlag and print each change",
    load: async () => (await import("./tail/tail-command.js")).tailCommand,
  },
  {
    name: "status",
    summary: "show topics, versions and subscribers of a proxy",
    load: async () => (await import("./status/status-command.js")).statusCommand,
  },
  {
    name: "completion",
    summary: "print a script that completes commands in a shell",
    load: async () => (await import("./completion/completion-command.js")).completionCommand,
  },
];
