import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { OperatorProcess } from "./support/operator-process.js";
import { grant, permissionsOf } from "./support/operator-roles.js";
import type { ServiceAccount } from "./support/service-account.js";
import { sharedCluster } from "./support/use-cluster.js";

/** The operator runs as its image starts it, with the roles of its chart and no others. */
describe("the operator", function () {
  this.timeout(90_000);
  const cluster = sharedCluster();
  let account: ServiceAccount;
  let running: OperatorProcess[];

  beforeEach(async () => {
    running = [];
    const namespace = await cluster().createNamespace();
    account = await cluster().createServiceAccountToken(namespace, "bunting-operator");
    await grant(cluster(), account, await permissionsOf([]));
  });

  afterEach(async () => {
    await Promise.all(running.map((each) => each.stop("SIGKILL")));
  });

  const start = (pod: string, ...args: string[]): OperatorProcess => {
    const operator = OperatorProcess.start({ account, pod, args });
    running.push(operator);
    return operator;
  };

  it("has one replica lead, and another soon after that was stopped, or once the Lease of a killed one is over", async () => {
    const first = start("operator-1");
    await first.leads();
    const second = start("operator-2");
    await eventually(async () => (await metric(second, "bunting_operator_leader")) === 0, "the second runs");
    expect(await first.stop()).to.equal(0);
    const released = await lease();
    expect(released.holderIdentity).to.equal("");
    await second.leads();
    expect(millisecondsBetween(released.renewTime, (await lease()).acquireTime)).to.be.within(0, 10_000);

    const third = start("operator-3");
    await eventually(async () => (await metric(third, "bunting_operator_leader")) === 0, "the third runs");
    await second.stop("SIGKILL");
    const left = await lease();
    await third.leads();
    // Its time is over after 15 s without a renewal.
    expect(millisecondsBetween(left.renewTime, (await lease()).acquireTime)).to.be.within(14_500, 25_000);
    expect(await metric(third, "bunting_operator_leader")).to.equal(1);
  });

  it("deploys the proxy, and puts back what was deleted of it", async () => {
    const operator = start("operator-1", "--proxy=always");
    const { namespace } = account;
    const paths = [
      `/apis/apps/v1/namespaces/${namespace}/deployments/flagd-proxy`,
      `/api/v1/namespaces/${namespace}/services/flagd-proxy-svc`,
      `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/flagd-proxy-pdb`,
    ];
    const areThere = async (): Promise<boolean> => {
      const answers = await Promise.all(paths.map((path) => cluster().api.request("GET", path)));
      return answers.every(({ status }) => status === 200);
    };
    await eventually(areThere, `the proxy is deployed; ${operator.process.output}`);
    for (const path of paths) await cluster().api.delete(path);
    await eventually(areThere, "the proxy is deployed again");
    expect(await operator.stop()).to.equal(0);
  });

  async function lease(): Promise<LeaseTimes> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${account.namespace}/leases/bunting-operator`;
    return (await cluster().api.get(path))["spec"] as LeaseTimes;
  }
});

interface LeaseTimes {
  readonly holderIdentity: string;
  readonly acquireTime: string;
  readonly renewTime: string;
}

function millisecondsBetween(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}

async function metric(operator: OperatorProcess, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${await operator.management()}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}
