/** What a shell completes of a command. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly { readonly name: string; readonly describe: string }[];
}

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The script that teaches a shell the commands and their flags. Whatever is no flag stays a file name. */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  if (shell === "fish") return fishScript(commands);
  // zsh reads completions of bash.
  const preamble = shell === "zsh" ? ["autoload -U +X bashcompinit && bashcompinit"] : [];
  return [...preamble, bashScript(commands)].join("\n");
}

function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const cases = commands.map(({ name, flags }) => {
    const list = ["--help", ...flags.map((flag) => `--${flag.name}`)].join(" ");
    return `    ${name}) words="${list}" ;;`;
  });
  return [
    "_bunting() {",
    '  local current="${COMP_WORDS[COMP_CWORD]}" words=""',
    '  if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "${COMP_WORDS[1]}" = help ]; }; then',
    `    words="${names} help --version --help"`,
    '  elif [ "${current#-}" != "$current" ]; then',
    '    case "${COMP_WORDS[1]}" in',
    ...cases.map((line) => `  ${line}`),
    "    esac",
    "  fi",
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    "}",
    "complete -o default -F _bunting bunting",
  ].join("\n");
}

function fishScript(commands: readonly CompletedCommand[]): string {
  return commands
    .flatMap(({ name, summary, flags }) => [
      `complete -c bunting -n __fish_use_subcommand -a ${name} -d ${fishText(summary)}`,
      ...flags.map(
        (flag) =>
          `complete -c bunting -n '__fish_seen_subcommand_from ${name}' -l ${flag.name} -d ${fishText(flag.describe)}`,
      ),
    ])
    .join("\n");
}

function fishText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
