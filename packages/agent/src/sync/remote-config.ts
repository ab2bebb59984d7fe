import {
  parseRemoteFlagProvider,
  remoteProviderDefaults,
  type RemoteFlagProvider,
} from "@bunting/featureflags/resources";
import type { JsonObject } from "@bunting/protocol";
import { AgentError } from "../agent-error.js";
import type { SourceContext } from "./grpc-config.js";
import { sentToken } from "./sent-token.js";
import type { RemoteSourceConfig } from "./source-config.js";
import type { SourceFieldName, SourceFields } from "./source-fields.js";

/** What the fields of a source are called that the provider of a FeatureFlag has under the same name. */
const namedAlike = ["type", "uri", "selector", "strategy"] as const;

/** The fields of such a source, beside those of all. */
export const remoteFields: readonly SourceFieldName[] = [
  "type",
  "base",
  "selector",
  "strategy",
  "interval",
  "allowEmpty",
  "certPath",
  "tokenFile",
  "tokenHostsFile",
];

/**
 * A source of provider remote: `spec.remoteFlagProvider` of a FeatureFlag, with a file in place of the FeatureFlag, and files in place of Secrets.
 *
 * @throws AgentError OPTION_INVALID
 */
export function remoteConfig(
  fields: SourceFields,
  sourceIndex: number,
  context: SourceContext,
): RemoteSourceConfig {
  const { where, remoteHosts } = context;
  const { base, uri, selector, certPath } = fields;
  if (base === "")
    throw AgentError.optionInvalid(
      `${where}: "base" is missing: name a file with flags of your own, which the remote's are merged with`,
    );
  const remote = providerOf(fields, where);
  return {
    provider: "remote",
    sourceIndex,
    uri,
    selector,
    path: base.replace(/^file:(\/\/(?=\/))?/, ""),
    remote,
    hosts: remoteHosts,
    certPath,
    ...sentToken(fields, { url: remote.uri, remedy: "use TLS" }, context),
  };
}

function providerOf(fields: SourceFields, where: string): RemoteFlagProvider {
  const { interval, allowEmpty } = fields;
  const written: JsonObject = {
    ...Object.fromEntries(namedAlike.flatMap((name) => (fields[name] === "" ? [] : [[name, fields[name]]]))),
    interval: interval === 0 ? remoteProviderDefaults.interval : `${interval}s`,
    allowEmpty,
  };
  const parsed = parseRemoteFlagProvider(written);
  if ("provider" in parsed) return parsed.provider;
  const problems = parsed.problems.map(({ path, message }) => `"${path.join(".")}": ${message}`);
  throw AgentError.optionInvalid(`${where}: ${problems.join("; ")}`);
}
