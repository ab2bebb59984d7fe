import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { affectedTests } from "./affected-tests.js";
import { workspaceGraph } from "./imports/workspace-graph.js";
import { Rerun } from "./rerun.js";
import { watchFiles } from "./watch-files.js";

const root = path.dirname(import.meta.dirname);
const script = path.join(import.meta.dirname, "test.ts");

/**
 * `npm test -- --watch`: runs the tests, and after each change those of them that depend on the changed files, until a signal.
 *
 * @param files the files of tests to choose from.
 * @param options mocha's.
 * @param runsFirst whether all of them run at once; otherwise nothing runs before the first change.
 */
export async function watchTests(
  files: readonly string[],
  options: readonly string[],
  runsFirst: boolean,
): Promise<void> {
  const graph = await workspaceGraph();
  const folders = new Set([...graph.files].map((file) => path.join(root, path.dirname(file))));
  const rerun = new Rerun((affected, signal) => runAgain([...options, ...affected], signal));
  const changedNow = async (changed: readonly string[]): Promise<void> => {
    const names = changed.map((file) => path.relative(root, file).replaceAll(path.sep, "/"));
    // Read again, because imports may have changed too: only changed files are, so it takes a third of a second.
    const affected = affectedTests(await workspaceGraph(), names, files);
    if (affected.files.length === 0) return;
    console.log(`bunting: ${names.join(", ")} changed: ${affected.files.length} files of tests depend on it`);
    rerun.start(affected.files);
  };
  const end = watchFiles(
    folders,
    (changed) =>
      void changedNow(changed).catch((error: unknown) => {
        console.error("bunting: can't tell which tests depend on the change:", error);
      }),
  );
  console.log("bunting: watching; Ctrl-C ends it");
  if (runsFirst) rerun.start(files);
  await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
  end();
  await rerun.stop();
}

/** In a process of its own, which builds first if it has to, and which ends with all that it has started. */
async function runAgain(args: readonly string[], signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], { stdio: "inherit" });
  const stop = (): void => void child.kill("SIGTERM");
  signal.addEventListener("abort", stop);
  await once(child, "exit");
  signal.removeEventListener("abort", stop);
  if (!signal.aborted) console.log("bunting: watching …");
}
