import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import type { ProxyProcess } from "../support/proxy-process.js";
import { AccessWorld } from "./support/access-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
/** What a proxy adds that forwards a request over loopback: for the status, such a request comes from elsewhere. */
const forwarded = { "x-forwarded-for": "10.0.0.7" };

describe("the management port with --management-auth, on a real API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let world: AccessWorld;
  let role: string;
  let proxy: ProxyProcess;

  before(async () => {
    world = await AccessWorld.create(cluster());
    role = `metrics-${world.teamA}`;
    await cluster().api.create(`${rbac}/clusterroles`, {
      metadata: { name: role },
      rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }],
    });
    await cluster().api.create(`${rbac}/clusterrolebindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name: "web", namespace: world.teamA }],
    });
    // Until the API server's own authorizer knows the binding: a refusal would be remembered.
    await eventually(async () => {
      const review = await cluster().api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: `system:serviceaccount:${world.teamA}:web`,
          nonResourceAttributes: { verb: "get", path: "/metrics" },
        },
      });
      return (review["status"] as { allowed?: boolean }).allowed === true;
    }, "the binding counts");
  });

  async function start(mode: "identity" | "rbac"): Promise<void> {
    proxy = await world.startProxy(["--auth=token", "--status=all", `--management-auth=${mode}`]);
  }

  afterEach(async () => {
    expect(await proxy.process.stop("SIGKILL"), proxy.process.output).to.equal(null);
  });

  async function ask(path: string, token?: string): Promise<{ status: number; text: string }> {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(proxy.management + path, { headers: { ...authorization, ...forwarded } });
    return { status: response.status, text: await response.text() };
  }

  it("serves pages to callers that RBAC lets get them, and names the others", async () => {
    await start("rbac");
    const [web, other, foreign] = await Promise.all([
      world.token("web"),
      world.token("other"),
      world.token("web", "https://kubernetes.default.svc"),
    ]);
    const served = await ask("/metrics", web);
    expect(served.status, served.text).to.equal(200);
    expect(served.text).to.contain("bunting_proxy_access_admitted_total");

    const refused = await ask("/metrics", other);
    expect(refused.status, refused.text).to.equal(403);
    expect(refused.text).to.contain(`system:serviceaccount:${world.teamA}:other may not read /metrics`);
    const status = await ask("/status", web);
    expect([status.status, status.text]).to.deep.equal([
      403,
      `system:serviceaccount:${world.teamA}:web may not read /status, because RBAC does not allow it: ` +
        "bind it to a ClusterRole with this path in nonResourceURLs and the verb get.\n",
    ]);
    for (const path of ["/metrics", "/status"]) {
      expect((await ask(path)).status, `${path} without a token`).to.equal(401);
      expect((await ask(path, foreign)).text, `${path} with a token for the API server`).to.contain(
        "audience",
      );
    }
    expect((await ask("/healthz")).status).to.equal(200);
    expect((await ask("/metrics", web)).text)
      .to.contain('bunting_proxy_access_refused_pages_total{path="/status",reason="denied"} 1')
      .and.contain('bunting_proxy_access_reviews_total{kind="page",result="granted"} 1');
  });

  it("serves them to every caller with an identity where no permission is asked for", async () => {
    await start("identity");
    const other = await world.token("other");
    for (const path of ["/metrics", "/status"]) {
      expect((await ask(path, other)).status, path).to.equal(200);
      expect((await ask(path)).status, path).to.equal(401);
    }
    // Names of other namespaces' ServiceAccounts are for those whom RBAC lets read the status.
    expect((await ask("/status", other)).text)
      .to.contain('"isReady"')
      .and.not.contain("readers");
  });
});
