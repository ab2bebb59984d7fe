import { webhookConfigurations } from "@bunting/operator/internal/desired/webhook-configurations.js";
import { expect } from "chai";
import type { ApiObject } from "./support/api-client.js";
import { OperatorHome } from "./support/operator-home.js";
import { freshCluster } from "./support/use-cluster.js";

interface Configuration extends ApiObject {
  readonly webhooks: readonly {
    readonly clientConfig: {
      readonly caBundle?: string;
      readonly service?: { readonly path?: string };
    };
  }[];
}

/** What docs/operate/gitops.md says of tools that apply the chart's objects again and again. */
describe("the webhooks' configurations, applied once more by what has installed them", function () {
  this.timeout(120_000);
  const cluster = freshCluster();
  let home: OperatorHome;
  let port: number;
  before(async () => {
    home = await OperatorHome.create(cluster(), []);
    const operator = home.start("operator-1");
    await operator.leads();
    await home.put("FeatureFlagSource", "app", { sources: [{ source: "a", provider: "flagd-proxy" }] });
    port = await operator.webhookPort();
    await home.registerWebhooks(port);
  });
  after(() => home.stop());

  it("keep the paths and the authority that the operator wrote, without a conflict", async () => {
    const service = {
      namespace: home.account.namespace,
      name: "open-feature-operator-webhook-service",
    };
    const rendered = webhookConfigurations({
      namespace: service.namespace,
      address: { service },
      validatesFlags: true,
    });
    expect(rendered).to.have.length(2);
    for (const object of rendered) {
      const at = `/apis/admissionregistration.k8s.io/v1/${object.kind.toLowerCase()}s/${object.metadata.name}`;
      const calls = async (): Promise<unknown> =>
        ((await cluster().api.get(at)) as Configuration).webhooks.map(
          ({ clientConfig: { caBundle, service: called } }) => [caBundle, called?.path],
        );
      const before = await calls();
      expect(JSON.stringify(before)).not.to.contain("null");
      // `home` has applied them before by this name, at a port of this test.
      const text = JSON.stringify(object).replaceAll('"port":443', `"port":${port}`);
      const { status, text: answer } = await cluster().api.request("PATCH", `${at}?fieldManager=test`, {
        body: JSON.parse(text) as unknown,
        contentType: "application/apply-patch+yaml",
      });
      expect(status, answer).to.equal(200);
      expect(await calls()).to.deep.equal(before);
    }
  });
});
