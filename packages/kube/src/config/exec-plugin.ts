import { spawn, type ChildProcess } from "node:child_process";
import type { User } from "@kubernetes/client-node";
import type { Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import { abortedError } from "../transport/foreign-error.js";
import type { AppliedCredential } from "./plugin-credentials.js";

/** The `exec` of a kubeconfig's user, as far as it is used. */
export interface ExecConfig {
  readonly apiVersion?: string | undefined;
  readonly command: string;
  readonly args?: readonly string[] | null | undefined;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null | undefined;
}

/** kubectl waits without limit, because people may have to log in; a service can't. */
export const pluginTimeoutMs = 60_000;
/** Time for a killed plugin to exit. */
const closeWithinMs = 1_000;
const maxOutputBytes = 1024 * 1024;
/** The most characters of the plugin's output in an error. */
const maxWords = 2_000;

/** The exec plugin that a user of a kubeconfig names; undefined without one. client-node knows it in three places. */
export function execConfigOf(user: User | undefined): ExecConfig | undefined {
  const provider = user?.authProvider as { config?: { exec?: unknown } } | null | undefined;
  const found: unknown = user?.exec ?? provider?.config?.exec;
  return found === null || found === undefined ? undefined : (found as ExecConfig);
}

/**
 * Runs an exec plugin (`aws eks get-token`, …) and returns its credential. It runs in a process group of its own, which is killed when its
 * time is over: a plugin that waits for an answer, or what it started, would otherwise block all requests.
 *
 * @throws KubeError CONFIG_INVALID that names the plugin and what to do.
 */
export async function runExecPlugin(
  exec: ExecConfig,
  signal: AbortSignal,
  clock: Clock,
): Promise<AppliedCredential> {
  const { command } = exec;
  const failed = (problem: string, cause?: unknown): KubeError =>
    KubeError.configInvalid(`the kubeconfig's credential plugin ${problem}`, { cause });
  if (typeof command !== "string" || command === "")
    throw failed("has no command: name one in its exec section");
  if (signal.aborted) throw abortedError(signal.reason);
  const output = await outputOf(exec, signal, clock, failed).catch((error: unknown) => {
    // Arguments that are no list of texts, for instance.
    throw error instanceof KubeError ? error : failed(`${command} can't be run: ${String(error)}`, error);
  });
  let credential: unknown;
  try {
    credential = JSON.parse(output);
  } catch (cause) {
    throw failed(
      `${command} did not print an ExecCredential as JSON; run it by hand to see what it prints`,
      cause,
    );
  }
  const applied = appliedOf(credential);
  if (applied === undefined)
    throw failed(
      `${command} printed no token and no client certificate; run it by hand to see what it prints`,
    );
  return applied;
}

function outputOf(
  exec: ExecConfig,
  signal: AbortSignal,
  clock: Clock,
  failed: (problem: string, cause?: unknown) => KubeError,
): Promise<string> {
  const { command } = exec;
  return new Promise((resolve, reject) => {
    const child = spawn(command, exec.args ?? [], {
      detached: true,
      env: environmentOf(exec),
      // Input that ends at once: a plugin that asks for a password fails instead of waiting for it.
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let words = "";
    let failure: (() => KubeError) | undefined;
    const stop = (why: () => KubeError): void => {
      if (failure !== undefined) return;
      failure = why;
      stopTimer();
      killGroup(child);
      // A process that has left the group may keep the output open.
      stopTimer = clock.after(closeWithinMs, () => settle(() => reject(why())));
    };
    const onAbort = (): void => stop(() => abortedError(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    let stopTimer = clock.after(pluginTimeoutMs, () =>
      stop(() => {
        const output = words.trim() === "" ? "" : ` (it said: ${words.trim()})`;
        const problem = `${command} did not end within ${pluginTimeoutMs / 1_000} s and was killed${output}`;
        return failed(`${problem}: run it by hand, without a terminal, to see what it waits for`);
      }),
    );
    const settle = (act: () => void): void => {
      stopTimer();
      signal.removeEventListener("abort", onAbort);
      child.removeAllListeners("close");
      child.stdout.destroy();
      child.stderr.destroy();
      act();
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (failure === undefined) output += text;
      if (output.length > maxOutputBytes)
        stop(() => failed(`${command} printed more than ${maxOutputBytes} bytes and was killed`));
    });
    child.stderr
      .setEncoding("utf8")
      .on("data", (text: string) => (words = (words + text).slice(0, maxWords)));
    child.once("error", (error) =>
      settle(() => reject(failed(`${command} can't be run: ${error.message}`, error))),
    );
    child.once("close", (code, by) => {
      const end = code === null ? `was ended by ${by ?? "a signal"}` : `exited with code ${code}`;
      settle(() => {
        if (failure !== undefined) reject(failure());
        else if (code === 0) resolve(output);
        else
          reject(
            failed(
              `failed: ${words.trim() === "" ? end : words.trim()}; run ${command} by hand, or kubectl with this kubeconfig, to see the details`,
            ),
          );
      });
    });
  });
}

function environmentOf({ apiVersion, env }: ExecConfig): NodeJS.ProcessEnv {
  const info = { kind: "ExecCredential", apiVersion, spec: { interactive: false } };
  const environment: NodeJS.ProcessEnv = { ...process.env };
  if (apiVersion !== undefined) environment["KUBERNETES_EXEC_INFO"] = JSON.stringify(info);
  for (const { name, value } of env ?? []) environment[name] = value;
  return environment;
}

/** Processes that the plugin started are in its group, too. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

function appliedOf(credential: unknown): AppliedCredential | undefined {
  const { status } = (credential ?? {}) as { status?: Readonly<Record<string, unknown>> | null };
  const field = (name: string): string | undefined => {
    const value = status?.[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const token = field("token");
  const cert = field("clientCertificateData");
  const key = field("clientKeyData");
  if (token === undefined && (cert === undefined || key === undefined)) return undefined;
  const expiresMs = Date.parse(field("expirationTimestamp") ?? "");
  return {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    cert,
    key,
    expiresMs: Number.isNaN(expiresMs) ? undefined : expiresMs,
  };
}
