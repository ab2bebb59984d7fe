import { existsSync, readFileSync } from "node:fs";
import { eventually } from "@bunting/test/support/event-queue.js";
import { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { RestClient } from "../rest/rest-client.js";
import { Http2Transport } from "../transport/http2-transport.js";
import { runExecPlugin, type ExecConfig } from "./exec-plugin.js";
import { kubeconfigConfig } from "./kubeconfig.js";

const never = new AbortController().signal;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("runExecPlugin", () => {
  let directory: TempDirectory;
  let clock: ManualClock;
  beforeEach(() => {
    directory = new TempDirectory();
    clock = new ManualClock();
  });
  afterEach(() => directory.remove());

  const shell = (script: string): ExecConfig => ({
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/bin/sh",
    args: ["-c", script],
    env: [{ name: "DIR", value: directory.path }],
  });
  const credential = (status: object): string => JSON.stringify({ kind: "ExecCredential", status });
  const failureOf = async (exec: ExecConfig, signal = never): Promise<Error & { code?: string }> => {
    const failure = runExecPlugin(exec, signal, clock).then(
      () => expect.fail("it should have failed"),
      (error: unknown) => error as Error,
    );
    return failure;
  };
  /** Hangs, with a child process that hangs too. */
  const hanging =
    'echo "waiting for a device" >&2; sleep 1000 & echo $! > "$DIR/child"; echo $$ > "$DIR/new"; mv "$DIR/new" "$DIR/pid"; wait';
  const pidIn = (name: string): number => Number(readFileSync(directory.file(name), "utf8"));

  it("returns the token with its expiry, and tells the plugin that there is no terminal", async () => {
    directory.replace("answer", credential({ token: "one", expirationTimestamp: "2030-01-01T00:00:00Z" }));
    const script = 'printf %s "$KUBERNETES_EXEC_INFO" > "$DIR/info"; cat > "$DIR/input"; cat "$DIR/answer"';
    expect(await runExecPlugin(shell(script), never, clock)).to.deep.equal({
      headers: { authorization: "Bearer one" },
      cert: undefined,
      key: undefined,
      expiresMs: Date.UTC(2030, 0, 1),
    });
    expect(JSON.parse(readFileSync(directory.file("info"), "utf8"))).to.deep.equal({
      kind: "ExecCredential",
      apiVersion: "client.authentication.k8s.io/v1",
      spec: { interactive: false },
    });
    expect(readFileSync(directory.file("input"), "utf8")).to.equal("");
    expect(clock.pendingTimers).to.equal(0);
  });

  it("kills a plugin that hangs after 60 s, with what it started, and says what to do", async () => {
    const failure = failureOf(shell(hanging));
    await eventually(() => existsSync(directory.file("pid")), "it runs");
    clock.advance(59_999);
    expect(isAlive(pidIn("pid"))).to.equal(true);
    clock.advance(1);
    const { code, message } = await failure;
    expect(code).to.equal("CONFIG_INVALID");
    expect(message).to.contain("credential plugin /bin/sh did not end within 60 s and was killed");
    expect(message).to.contain("it said: waiting for a device").and.contain("run it by hand");
    await eventually(() => !isAlive(pidIn("pid")) && !isAlive(pidIn("child")), "both are gone");
  });

  it("kills it when the signal aborts, and runs none after that", async () => {
    const abort = new AbortController();
    const failure = failureOf(shell(hanging), abort.signal);
    await eventually(() => existsSync(directory.file("pid")), "it runs");
    abort.abort();
    expect((await failure).code).to.equal("ABORTED");
    await eventually(() => !isAlive(pidIn("child")), "it is gone");
    expect((await failureOf(shell('touch "$DIR/again"'), abort.signal)).code).to.equal("ABORTED");
    expect(existsSync(directory.file("again"))).to.equal(false);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("says what a plugin did wrong", async () => {
    for (const [exec, sentence] of [
      [{ command: "" }, "has no command"],
      [{ command: "/nowhere/plugin" }, "/nowhere/plugin can't be run: spawn /nowhere/plugin ENOENT"],
      [{ command: "/bin/sh", args: "-c" as unknown as string[] }, "/bin/sh can't be run"],
      [shell("exit 3"), "failed: exited with code 3; run /bin/sh by hand"],
      [shell("kill -9 $$"), "failed: was ended by SIGKILL"],
      [shell("echo please log in >&2; exit 1"), "failed: please log in; run /bin/sh by hand"],
      [shell("echo hello"), "did not print an ExecCredential as JSON"],
      [shell("echo '{}'"), "printed no token and no client certificate"],
      [shell("echo null"), "printed no token and no client certificate"],
      [
        shell("while :; do echo $DIR$DIR$DIR$DIR$DIR$DIR$DIR; done"),
        "printed more than 1048576 bytes and was killed",
      ],
    ] as const) {
      const { code, message } = await failureOf(exec);
      expect(code).to.equal("CONFIG_INVALID");
      expect(message).to.contain(`the kubeconfig's credential plugin`).and.contain(sentence);
    }
    expect(clock.pendingTimers).to.equal(0);
  });

  it("does not keep the requests that come after it from being sent", async () => {
    const api = await FaultyApiServer.start();
    // Hangs the first time only.
    const script = `if [ -e "$DIR/pid" ]; then echo '${credential({ token: "t" })}'; else ${hanging}; fi`;
    directory.replace(
      "config",
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server: api.url, "certificate-authority": api.caFile } }],
        users: [{ name: "u", user: { exec: shell(script) } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    const config = await kubeconfigConfig({ path: directory.file("config"), clock });
    const transport = new Http2Transport(config);
    const scope = {
      type: {
        group: "core.openfeature.dev",
        version: "v1beta1",
        plural: "featureflags",
        kind: "FeatureFlag",
      },
    };
    try {
      const client = new RestClient(transport);
      const first = client.list(scope, {}, never).catch((error: unknown) => error);
      await eventually(() => existsSync(directory.file("pid")), "it hangs");
      clock.advance(60_000);
      expect(await first).to.include({ code: "CONFIG_INVALID" });
      expect((await client.list(scope, {}, never)).items).to.deep.equal([]);
    } finally {
      await transport.close();
      await api.close();
    }
  });
});
