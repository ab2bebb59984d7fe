import { eventually } from "../../support/event-queue.js";
import type { Cluster } from "./cluster.js";

/**
 * Applies a CustomResourceDefinition and waits until the API server serves it. Right after it was created it may have no conditions, for which
 * `kubectl wait` fails instead of waiting.
 */
export async function applyType(cluster: Cluster, file: string): Promise<void> {
  await cluster.kubectl(["apply", "--server-side", "-f", file]);
  const isServed = async (): Promise<boolean> => {
    try {
      await cluster.kubectl(["wait", "--for=condition=Established", "--timeout=60s", "-f", file]);
      return true;
    } catch (error) {
      if (!String(error).includes(".status.conditions accessor error")) throw error;
      return false;
    }
  };
  await eventually(isServed, `the types of ${file} are served`);
}
