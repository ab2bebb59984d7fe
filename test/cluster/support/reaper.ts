import { spawn, type ChildProcess } from "node:child_process";

/**
 * Makes sure that nothing outlives the test run. Teardown does not run when mocha itself is killed; so a shell, in a session of its own, holds the
 * other end of a pipe: when this process is gone, for whatever reason, the shell reads the end of the pipe, kills every process group it
 * was told of, and removes the directories.
 */
const script = `
groups= directories=
while read -r verb value; do
  case "$verb" in
    group) groups="$groups $value" ;;
    gone) next=; for g in $groups; do [ "$g" = "$value" ] || next="$next $g"; done; groups=$next ;;
    directory) directories="$directories $value" ;;
  esac
done
for g in $groups; do kill -9 "-$g" 2>/dev/null; done
[ -z "$directories" ] || rm -rf $directories
`;

let shell: ChildProcess | undefined;

function tell(line: string): void {
  if (shell === undefined) {
    shell = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    shell.unref();
    shell.stdin?.on("error", () => undefined);
    // A pipe, though typed as a stream: it must not keep mocha from ending.
    if (shell.stdin !== null && "unref" in shell.stdin) (shell.stdin.unref as () => void)();
  }
  shell.stdin?.write(`${line}\n`);
}

export const reaper = {
  /** Kills this process group when this process is gone. */
  group: (pid: number): void => tell(`group ${pid}`),
  /** The group has ended: its id may soon be used again. */
  gone: (pid: number): void => tell(`gone ${pid}`),
  /** Removes this directory when this process is gone; its path must not contain spaces. */
  directory: (path: string): void => tell(`directory ${path}`),
};
