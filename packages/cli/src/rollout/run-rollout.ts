import { KubeError } from "@bunting/kube";
import { featureFlagType, ProtocolError } from "@bunting/protocol";
import { quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { withCluster, type ClusterReader } from "../operator/cluster-reader.js";
import { namedAddressText, parseNamedAddress, type NamedAddress } from "../operator/object-address.js";
import { rolloutLines } from "./rollout-lines.js";
import { rolloutTasks, type rolloutOptionTable } from "./rollout-options.js";
import { rolloutOrder } from "./rollout-order.js";
import { rolloutState, type RolloutState } from "./rollout-state.js";

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
    const state = await read(address, reader);
    if (task === "status") {
      if (options.json) io.print(JSON.stringify(state, null, 2));
      else for (const line of rolloutLines(state)) io.print(line);
      return state.phase === "Halted" || state.phase === "Aborted" ? 1 : 0;
    }
    const { patch, done } = rolloutOrder(task, state, new Date().toISOString());
    await reader.client.patch({ type: featureFlagType, ...address }, "merge", patch, reader.signal);
    if (options.json) io.print(JSON.stringify(await read(address, reader), null, 2));
    else io.print(done);
    return 0;
  });
}

async function read(address: NamedAddress, reader: ClusterReader): Promise<RolloutState> {
  try {
    return rolloutState(await reader.client.get({ type: featureFlagType, ...address }, reader.signal));
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
