import { KubeError } from "@bunting/kube";
import { featureFlagType, ProtocolError } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { withCluster, type ClusterReader } from "../operator/cluster-reader.js";
import { namedAddressText, parseNamedAddress, type NamedAddress } from "../operator/object-address.js";
import { rolloutLines } from "./rollout-lines.js";
import { rolloutTasks, type RolloutTask, type rolloutOptionTable } from "./rollout-options.js";
import { rolloutOrder } from "./rollout-order.js";
import { rolloutState, type RolloutState } from "./rollout-state.js";

/** The second is the last mostly: the operator writes at most once in 10 s. */
const mostAttempts = 10;

/** `bunting rollout TASK NAME`; resolves with the exit code. */
export async function runRollout({
  options,
  words,
  io,
}: CommandCall<typeof rolloutOptionTable>): Promise<number> {
  const [word = "", name = "", ...more] = words;
  const task = rolloutTasks.find((each) => each === word);
  if (task === undefined)
    throw CliError.usageInvalid(`expected ${rolloutTasks.join(", ")}, got ${quoted(word)}`);
  if (name === "" || more.length > 0)
    throw CliError.usageInvalid(`name one FeatureFlag: bunting rollout ${task} NAMESPACE/NAME`);
  const address = parseNamedAddress(name, options.namespace);
  return withCluster(options, io, async (reader) => {
    if (task === "status") {
      const { state } = await read(address, reader);
      if (options.json) io.print(JSON.stringify(state, null, 2));
      else for (const line of rolloutLines(state)) io.print(line);
      return state.phase === "Halted" || state.phase === "Aborted" ? 1 : 0;
    }
    const { done, state } = await give(task, address, reader);
    if (options.json) io.print(JSON.stringify(state, null, 2));
    else io.print(done);
    return 0;
  });
}

/**
 * Gives an order to the version of the object that it was made for. What has changed meanwhile is looked at first: a version that is to be given up may be
 * whole by now, and then the order would do nothing.
 */
export async function give(
  task: Exclude<RolloutTask, "status">,
  address: NamedAddress,
  reader: ClusterReader,
): Promise<{ readonly done: string; readonly state: RolloutState }> {
  for (let attempt = 1; ; attempt++) {
    const { state, resourceVersion } = await read(address, reader);
    const { patch, done } = rolloutOrder(task, state, new Date().toISOString());
    const body = { ...patch, metadata: { ...patch.metadata, resourceVersion } };
    try {
      const scope = { type: featureFlagType, ...address };
      return { done, state: rolloutState(await reader.client.patch(scope, "merge", body, reader.signal)) };
    } catch (error) {
      const isChanged = error instanceof KubeError && error.code === "CONFLICT";
      if (!isChanged || attempt === mostAttempts) throw error;
    }
  }
}

async function read(
  address: NamedAddress,
  reader: ClusterReader,
): Promise<{ readonly state: RolloutState; readonly resourceVersion: string | undefined }> {
  try {
    const object = await reader.client.get({ type: featureFlagType, ...address }, reader.signal);
    return { state: rolloutState(object), resourceVersion: object.metadata.resourceVersion };
  } catch (error) {
    if (error instanceof KubeError && error.code === "NOT_FOUND")
      throw new CliError(
        "OBJECT_UNKNOWN",
        `there is no FeatureFlag ${namedAddressText(address)}, or no such type in this cluster`,
      );
    if (error instanceof ProtocolError)
      throw CliError.inputInvalid(
        `the flags of ${namedAddressText(address)} can't be read: ${error.message}. See bunting lint`,
      );
    throw error;
  }
}
