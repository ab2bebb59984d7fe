import { randomUUID } from "node:crypto";
import type { EventRecorder } from "@bunting/kube";
import { runnableComponent, type Component, type Runnable } from "@bunting/runtime";
import { leaseName } from "../api/leases.js";
import { hasPod } from "../controllers/lease-holder.js";
import type { OtherOperator } from "../controllers/other-operator.js";
import type { OperatorWiring } from "./operator-wiring.js";

/**
 * Another replica leads within 17 s after the leader was killed, and 2 s after it was stopped: a replica that does not lead tries up to a fifth
 * later than this.
 */
const retryMs = 1_500;
/** Both replicas together ask an API server less than once a second at rest. */
const renewMs = 4_000;
const stopTimeoutMs = 5_000;

export interface LeadershipParts {
  readonly events: EventRecorder;
  /** The uid of our own Deployment; undefined if there is none. */
  readonly ownUid: (signal: AbortSignal) => Promise<string | undefined>;
  /** Called when another operator is seen. */
  readonly onOther: () => void;
  /**
   * Makes what runs on the leader alone, in the order of its start, for each time that this process leads: `own` writes only what takes nothing
   * from another operator, `shared` everything else.
   */
  readonly work: { readonly own: () => readonly Component[]; readonly shared: () => readonly Component[] };
}

/** Runs the work of the leader while this process leads, and no other operator runs. */
export function leadership(wiring: OperatorWiring, leading: LeadershipParts): Runnable {
  const { options, parts, context, cluster, instance } = wiring;
  const other = options.takeover ? undefined : otherOperator(wiring, leading);
  const { own, shared } = leading.work;
  const run = (components: readonly Component[], signal: AbortSignal): Promise<void> =>
    parts.runComponents(components, signal, { stopTimeoutMs });
  const inAbsence = (absence: OtherOperator): Component =>
    runnableComponent(
      {
        name: "shared work",
        run: (signal) => absence.workInAbsence((until) => run(shared(), until), signal),
      },
      "waits for other operators to go, while this one is made ready to take their place",
    );
  const lead = async (signal: AbortSignal): Promise<void> => {
    context.metrics.leads(true);
    try {
      await run([...own(), ...(other === undefined ? shared() : [inAbsence(other)])], signal);
    } finally {
      context.metrics.leads(false);
      context.metrics.isHeldBack(false);
    }
  };
  if (!options.leaderElect) return { name: "the leader's work", run: lead };
  const { namespace } = options;
  return new parts.LeaderElection({
    client: cluster.client,
    claim: {
      ...{ namespace, name: leaseName, identity: identityOf(options.podName, instance) },
      isGone: (holder, signal) => isGone(wiring, leading, holder, signal),
    },
    lead,
    context,
    timing: { retryMs, renewMs },
  });
}

/** By `_` it is told from others that there is a Pod of the name before it. */
function identityOf(podName: string, instance: string): string {
  return `${instance}${podName === "" ? "-" : "_"}${randomUUID()}`;
}

/**
 * True if the holder's Pod does not exist any more. `helm uninstall` takes the Role before the Pods have ended, so that the leader can't release the Lease,
 * and who is installed next would wait for the end of it. Only a process that finds itself by its Pod's name knows that others are found so.
 */
async function isGone(
  { options, cluster, context }: OperatorWiring,
  { ownUid }: LeadershipParts,
  identity: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (!identity.includes("_") || (await ownUid(signal)) === undefined) return false;
    return !(await hasPod(cluster.client, { namespace: options.namespace, identity }, signal));
  } catch (error) {
    if (!signal.aborted) context.logger.warn({ error }, "it can't be seen whether the leader's Pod is gone");
    return false;
  }
}

/** Looks for another operator, and says so to users. */
function otherOperator(
  { options, parts, context, cluster, instance }: OperatorWiring,
  leading: LeadershipParts,
): OtherOperator {
  const { namespace } = options;
  const { logger, metrics } = context;
  return new parts.OtherOperator({
    client: cluster.client,
    namespace,
    ownUid: leading.ownUid,
    context,
    onSeen: (what) => {
      metrics.isHeldBack(what !== undefined);
      if (what === undefined) {
        logger.info("the other operator is gone: this one begins to write");
        return;
      }
      const note = `another operator runs (${what}): this one writes nothing until that is gone; --takeover begins all the same`;
      logger.warn({ reason: "OtherOperator" }, note);
      leading.onOther();
      leading.events.record({
        regarding: { apiVersion: "v1", kind: "Pod", namespace, name: instance },
        type: "Warning",
        reason: "OtherOperator",
        action: "Wait",
        note,
      });
    },
  });
}
