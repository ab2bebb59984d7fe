import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KubeError, type ObjectList, type ResourceScope } from "@bunting/kube";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { ProxySubscribers, readActiveStreams } from "./proxy-subscribers.js";

const ready = [{ type: "Ready", status: "True" }];
const signal = new AbortController().signal;

/** What the open-feature-operator's proxy answers; ours has no labels. */
const stockMetrics = [
  "# HELP sync_active_streams number of open sync subscriptions",
  "# TYPE sync_active_streams gauge",
  'sync_active_streams{otel_scope_name="flagd-proxy",otel_scope_version=""} 3',
  'sync_active_streams{otel_scope_name="other",otel_scope_version=""} 4',
  "sync_active_streams_other 9",
].join("\n");

describe("the subscribers of the proxy", () => {
  const servers: Server[] = [];
  let logger: ReturnType<typeof recordingLogger>;
  let scopes: ResourceScope[];
  beforeEach(() => {
    logger = recordingLogger();
    scopes = [];
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  async function listening(answer: RequestListener): Promise<number> {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  }

  const answering =
    (text: string, status = 200): RequestListener =>
    (request, response) => {
      response.writeHead(request.url === "/metrics" ? status : 404);
      response.end(text);
    };

  describe("of a Pod", () => {
    for (const [what, text, expected] of [
      ["our proxy", "sync_active_streams 12\n", 12],
      ["the open-feature-operator's, with all its series", stockMetrics, 7],
      ["one without any", "# nothing\nsync_active_streams 0", 0],
    ] as const) {
      it(`are read of ${what}`, async () => {
        expect(await readActiveStreams("127.0.0.1", await listening(answering(text)), signal)).to.equal(
          expected,
        );
      });
    }

    for (const [what, answer] of [
      ["has no such metric", answering("sync_active_streams_other 1")],
      ["answers with an error", answering("sync_active_streams 1", 503)],
      ["breaks off", (_request, response) => void response.socket?.destroy()],
      ["answers without end", (_request, response) => pourInto(response)],
    ] as const satisfies readonly (readonly [string, RequestListener])[]) {
      it(`are unknown if it ${what}`, async () => {
        const port = await listening(answer);
        const reading = readActiveStreams("127.0.0.1", port, signal);
        expect(await reading.catch((error: unknown) => error)).to.be.instanceOf(Error);
      });
    }
  });

  /** @param answers by address: a number, or an error */
  function subscribers(
    pods: readonly object[],
    answers: Readonly<Record<string, number | Error>>,
  ): ProxySubscribers {
    const items = pods.map((status, index) => ({ metadata: { name: `proxy-${index}` }, status }));
    const client = {
      list: (scope: ResourceScope): Promise<ObjectList> => {
        scopes.push(scope);
        return Promise.resolve({ resourceVersion: "1", continueToken: undefined, items });
      },
    };
    const settings = { namespace: "flags", ports: { sync: 8015, management: 9016 } };
    return new ProxySubscribers(client, settings, { logger }, (host, port) => {
      const answer = port === 9016 ? answers[host] : undefined;
      return typeof answer === "number"
        ? Promise.resolve(answer)
        : Promise.reject(answer ?? new Error("none"));
    });
  }

  it("are those of all its Pods, found by their labels", async () => {
    const all = subscribers([{ podIP: "a", conditions: ready }, { podIP: "b" }, {}], { a: 2, b: 3 });
    expect(await all.count(signal)).to.equal(5);
    expect(scopes).to.deep.equal([
      {
        type: { group: "", version: "v1", plural: "pods" },
        namespace: "flags",
        labelSelector:
          "app.kubernetes.io/name=flagd-proxy,app.kubernetes.io/managed-by=open-feature-operator",
      },
    ]);
  });

  it("are unknown if a Pod that is ready does not answer, and the log names it", async () => {
    const pods = [
      { podIP: "a", conditions: ready },
      { podIP: "b", conditions: ready },
    ];
    const error = new Error("refused");
    expect(await subscribers(pods, { a: 0, b: error }).count(signal)).to.equal(undefined);
    expect(logger.lines.map(({ fields }) => fields)).to.deep.equal([{ error, pod: "proxy-1" }]);
  });

  it("are none of a Pod that neither is ready nor answers", async () => {
    const pods = [{ podIP: "a", conditions: [{ type: "Ready", status: "False" }] }];
    expect(await subscribers(pods, {}).count(signal)).to.equal(0);
    expect(logger.lines).to.deep.equal([]);
  });

  it("are not guessed if the Pods can't be listed", async () => {
    const client = { list: () => Promise.reject(new KubeError("FORBIDDEN", "no")) };
    const settings = { namespace: "flags", ports: { sync: 8015, management: 8016 } };
    const counting = new ProxySubscribers(client, settings, { logger }).count(signal);
    expect(await counting.catch((error: unknown) => error)).to.be.instanceOf(KubeError);
  });
});

function pourInto(response: Parameters<RequestListener>[1]): void {
  const chunk = Buffer.alloc(65_536, "# \n");
  const pour = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", pour);
  pour();
}
