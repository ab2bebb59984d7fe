import { OpenFeature, type Client } from "@openfeature/server-sdk";
import { expect } from "chai";
import { evaluations, type Evaluation } from "./testbed/evaluations.js";
import {
  createProvider,
  firstSource,
  resolve,
  secondSource,
  TestbedAgent,
  wayNames,
  type WayName,
} from "./testbed/testbed-agent.js";

/** What flagd-testbed asks of every provider, in our words and with our flags. */
describe("the behaviour that flagd-testbed describes", () => {
  const agent = new TestbedAgent("-X", "injected=set", "-H", "X-Tenant=tenant");
  let domains = 0;

  async function connect(way: WayName, options: Parameters<typeof createProvider>[2] = {}): Promise<Client> {
    const domain = `testbed ${domains++}`;
    await OpenFeature.setProviderAndWait(domain, createProvider(way, agent, options));
    return OpenFeature.getClient(domain);
  }

  before(() => agent.start());
  after(async () => {
    await OpenFeature.close();
    await agent.stop();
  });

  for (const way of wayNames) {
    describe(way, () => {
      let client: Client;
      before(async () => {
        client = await connect(way);
      });

      for (const evaluation of evaluations) {
        it(evaluation.about, async () => {
          const { key, fallback, context } = evaluation;
          const details = await resolve(client, key, fallback, context);
          expect(details).to.deep.include(expectedOf(evaluation, way));
        });
      }

      it("adds the values of --context-value", async () => {
        expect(await resolve(client, "flagd-context-aware", "not")).to.include({ value: "internal" });
        // They win over those of the request.
        const context = { injected: "other" };
        expect(await resolve(client, "flagd-context-aware", "not", context)).to.include({
          value: "internal",
        });
      });

      for (const [selector, value, reason] of [
        [firstSource, false, "DISABLED"],
        [`source=${firstSource}`, false, "DISABLED"],
        [secondSource, true, "STATIC"],
        [`source=${secondSource}`, true, "STATIC"],
        ["flagSetId=selected", true, "STATIC"],
        ["flagSetId=", false, "DISABLED"],
      ] as const) {
        it(`selects ${selector}: a flag is disabled in one set and enabled in another`, async () => {
          const selected = await connect(way, { selector });
          const details = await resolve(selected, "cross-flagset-flag", false);
          expect(details.value).to.equal(value);
          if (way !== "OFREP" || value) expect(details.reason).to.equal(reason);
          const isFirst = !value;
          expect((await resolve(selected, "integer-flag", 1)).errorCode).to.equal(
            isFirst ? undefined : "FLAG_NOT_FOUND",
          );
          expect((await resolve(selected, "only-set-metadata-flag", false)).errorCode).to.equal(
            isFirst ? "FLAG_NOT_FOUND" : undefined,
          );
        });
      }

      it("merges the metadata of a flag over that of its set", async () => {
        const metadataOf = async (of: Client, key: string): Promise<unknown> =>
          (await resolve(of, key, true)).flagMetadata;
        const own = { string: "a", integer: 1, float: 1.2, boolean: true };
        const ofSet = {
          "flag-set-string": "c",
          "flag-set-integer": 3,
          "flag-set-float": 3.2,
          "flag-set-boolean": false,
        };
        expect(await metadataOf(client, "metadata-flag")).to.deep.equal(own);
        expect(await metadataOf(client, "boolean-flag")).to.deep.equal({});
        const selected = await connect(way, { selector: secondSource });
        expect(await metadataOf(selected, "combined-metadata-flag")).to.include({ ...own, ...ofSet });
        expect(await metadataOf(selected, "only-set-metadata-flag")).to.include({
          string: "set",
          integer: 2,
          float: 2.2,
          boolean: false,
          ...ofSet,
        });
      });
    });
  }

  it("adds the headers of --context-from-header", async () => {
    const tenant = await connect("OFREP", { headers: { "x-tenant": "acme" } });
    expect(await resolve(tenant, "header-aware", "not")).to.include({ value: "acme" });
    expect(await resolve(await connect("OFREP"), "header-aware", "not")).to.include({ value: "other" });
  });
});

function expectedOf({ value, variant, reason, errorCode, hasNoValue }: Evaluation, way: WayName): object {
  if (way === "OFREP" && hasNoValue === true) return { value };
  return {
    value,
    ...(variant === undefined ? {} : { variant }),
    ...(reason === undefined ? {} : { reason }),
    ...(errorCode === undefined ? {} : { errorCode }),
  };
}
