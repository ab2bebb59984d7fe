/**
 * A process that takes part in a leader election, for tests that stop or kill it. It says on standard output when it begins and ends to lead.
 *
 * Arguments: the kubeconfig, the namespace, the name of the Lease, and the identity.
 */
import { connectCluster, LeaderElection } from "@bunting/kube";
import { createLogger, processSignals, systemClock } from "@bunting/runtime";

const [kubeconfig = "", namespace = "", name = "", identity = ""] = process.argv.slice(2);
const logger = createLogger({ format: "json", debug: false }, process.stderr);
const choice = { kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
const cluster = await connectCluster(choice, {
  program: "bunting-test/0.0.0",
  clock: systemClock,
  env: {},
});
const stop = new AbortController();
const connections = cluster.connections.run(stop.signal);
const election = new LeaderElection({
  client: cluster.client,
  claim: { namespace, name, identity },
  lead: async (signal) => {
    console.log("leads");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    console.log("leads no longer");
  },
  context: { clock: systemClock, logger },
  timing: { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 300 },
});
const { signal } = processSignals();
await election.run(signal);
stop.abort();
await connections;
