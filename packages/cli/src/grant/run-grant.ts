import { yamlText } from "@bunting/files/yaml";
import { quoted } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import type { CommandCall } from "../command.js";
import { parseNamedAddress } from "../operator/object-address.js";
import { credentialsGrant } from "./credentials-grant.js";
import { grantTasks, type grantOptionTable } from "./grant-options.js";

/** `bunting grant credentials NAME`; resolves with the exit code. It asks no cluster. */
export function runGrant({ options, words, io }: CommandCall<typeof grantOptionTable>): Promise<number> {
  const [task = "", name = "", ...more] = words;
  if (!grantTasks.some((each) => each === task))
    throw CliError.usageInvalid(`expected ${grantTasks.join(", ")}, got ${quoted(task)}`);
  if (name === "" || more.length > 0)
    throw CliError.usageInvalid("name one Secret: bunting grant credentials NAMESPACE/NAME");
  if (!options.proxyAccount.includes("/"))
    throw CliError.usageInvalid("--proxy-account names a ServiceAccount as NAMESPACE/NAME");
  const secret = parseNamedAddress(name, options.namespace);
  const items = credentialsGrant(secret, parseNamedAddress(options.proxyAccount, ""));
  if (options.json) io.print(JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2));
  else io.print(items.map((item) => yamlText(item)).join("\n---\n"));
  return Promise.resolve(0);
}
