import { expect } from "chai";
import type { ApiObject } from "../../cluster/support/api-client.js";
import { OperatorHome, readiness } from "../../cluster/support/operator-home.js";
import type { OperatorProcess } from "../../cluster/support/operator-process.js";
import { freshCluster } from "../../cluster/support/use-cluster.js";
import { eventually } from "../../support/event-queue.js";
import { binaryOf, type Version } from "../previous-binaries.js";

interface Secret extends ApiObject {
  readonly data: Readonly<Record<string, string>>;
}

/** Real operators of both versions on a real API server, in an upgrade and back: each goes on with what the other has written. */
describe("operators of two versions", function () {
  this.timeout(300_000);
  const cluster = freshCluster();
  let home: OperatorHome;
  let leading: OperatorProcess;
  let started = 0;
  before(async () => {
    home = await OperatorHome.create(cluster(), ["--proxy=always"]);
    await cluster().putFeatureFlag(home.shop, "limits", { flags: {} });
    leading = start("previous");
    await leading.leads();
  });
  after(() => home.stop());

  const start = (version: Version): OperatorProcess =>
    home.start(`operator-${++started}`, undefined, binaryOf(version, "operator"));
  const putSource = (port: number): Promise<ApiObject> =>
    home.put("FeatureFlagSource", "app", {
      sources: [{ source: `${home.shop}/limits`, provider: "flagd-proxy" }],
      port,
    });
  const get = (path: string): Promise<ApiObject> => cluster().api.get(path);
  const authority = async (): Promise<Secret["data"]> => {
    const path = `/api/v1/namespaces/${home.account.namespace}/secrets/bunting-operator-ca`;
    return ((await get(path)) as Secret).data;
  };
  const proxyPath = (): string =>
    `/apis/apps/v1/namespaces/${home.account.namespace}/deployments/flagd-proxy`;
  const untilAccepted = async (): Promise<void> => {
    await eventually(async () => {
      const { status, metadata } = (await get(home.path("FeatureFlagSource", "app"))) as WithConditions;
      const accepted = status?.conditions?.find(({ type }) => type === "Accepted");
      return accepted?.status === "True" && accepted.observedGeneration === metadata.generation;
    }, `the source is accepted; ${leading.process.output}`);
  };

  /** As a rolling update does: the next one is ready before the one that leads is stopped. */
  async function handOver(to: Version): Promise<void> {
    const next = start(to);
    await eventually(async () => (await readiness(next)).isReady, `the ${to} one is ready`, 60_000).catch(
      (error: unknown) => {
        throw new Error(`${String(error)}; it said:\n${next.process.output}`);
      },
    );
    expect(await leading.stop(), leading.process.output).to.equal(0);
    await next.leads();
    leading = next;
  }

  it("begin with what the previous one compiles", async () => {
    await putSource(8100);
    await home.untilCompiled("8100");
    await untilAccepted();
    await eventually(
      async () => (await cluster().api.request("GET", proxyPath())).status === 200,
      "the proxy is deployed",
    );
  });

  for (const [index, to] of (["present", "previous", "present"] as const).entries())
    it(`hand over to the ${to} one (${index + 1}): Lease, authority, proxy and Injection go on`, async () => {
      const before = {
        authority: await authority(),
        proxy: await get(proxyPath()),
        injection: await home.injection(),
      };
      await handOver(to);
      expect(await authority(), "the authority that API servers know").to.deep.equal(before.authority);
      const port = 8101 + index;
      await putSource(port);
      const compiled = await home.untilCompiled(String(port));
      await untilAccepted();
      expect(compiled.metadata.uid, "it is the same Injection").to.equal(before.injection?.metadata.uid);
      expect((await get(proxyPath())).metadata.uid, "it is the same proxy").to.equal(
        before.proxy.metadata.uid,
      );
      const errors = leading.process.logs.filter(({ level }) => level === "error");
      expect(errors).to.deep.equal([]);
    });
});

interface WithConditions extends ApiObject {
  readonly metadata: ApiObject["metadata"] & { readonly generation?: number };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly observedGeneration?: number;
    }[];
  };
}
