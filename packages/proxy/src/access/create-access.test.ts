import { expect } from "chai";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { proxyOptionTable, type ProxyOptions } from "../options.js";
import { noMetrics } from "../proxy-metrics.js";
import { createAccess, type CreatedAccess } from "./create-access.js";

const defaults = Object.fromEntries(
  Object.entries(proxyOptionTable).map(([name, option]) => [name, option.default]),
) as unknown as ProxyOptions;

function create(options: Partial<ProxyOptions>): CreatedAccess {
  const clock = new ManualClock();
  const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
  return createAccess(
    { ...defaults, ...options },
    {
      context: { clock, logger, log: new RateLimitedLog(logger, clock), metrics: noMetrics },
      env: {},
      readersOf: () => undefined,
    },
  );
}

describe("createAccess", () => {
  for (const auth of ["optional", "token", "pod-ip"] as const)
    it(`lets only callers with an identity read the pages of the management port with --auth=${auth}`, async () => {
      const { pages } = create({ auth, status: "all", authJwksFile: "", authIssuer: [] });
      const nothing = { authorization: undefined, address: "unix", certificate: undefined, connection: {} };
      const error = await pages?.admit(nothing, "/status").then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.have.property("code", "UNAUTHENTICATED");
      expect(pages?.isByPermission).to.equal(false);
      expect(create({ auth, managementAuth: "rbac" }).pages?.isByPermission).to.equal(true);
    });

  it("says what a cluster is for that was not found, and how to do without where that is possible", async () => {
    const reasonOf = async (options: Partial<ProxyOptions>): Promise<string> => {
      const identity = create(options).runnables.find(({ name }) => name === "identity");
      const error: unknown = await identity
        ?.run(new AbortController().signal)
        .catch((thrown: unknown) => thrown);
      return (error as Error).message;
    };
    const what = /^--auth=token asks an API server who callers are: no cluster was found: /;
    expect(await reasonOf({ auth: "token" }))
      .to.match(what)
      .and.contain("set --auth-jwks-file and");
    expect(await reasonOf({ auth: "token", tokenReview: true }))
      .to.match(what)
      .and.not.contain("--auth-jwks-file");
  });

  it("lets everyone read them where callers have no identity, and refuses an option that would have no effect then", () => {
    expect(create({ auth: "anonymous", status: "all" }).pages).to.equal(undefined);
    for (const managementAuth of ["identity", "rbac"] as const)
      expect(() => create({ auth: "anonymous", managementAuth }))
        .to.throw("--management-auth has no effect with --auth=anonymous")
        .with.property("code", "OPTION_INVALID");
  });
});
