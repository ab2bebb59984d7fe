import type { SourceEntry } from "@bunting/featureflags/resources";
import { isObjectName, quoted } from "@bunting/protocol";
import type { SourceProblem } from "./source-problem.js";

/** A Secret of the Pods' namespace with the token of a source, as files of the sidecar. */
export interface CredentialsSecret {
  readonly name: string;
  readonly key: string;
  readonly tokenFile: string;
  readonly hostsFile: string;
}

/** Where Secrets are mounted, each in a directory of its name. */
export const credentialsDirectory = "/var/run/secrets/bunting-sources";
/**
 * The key with the servers that the token is meant for. Who may write a FeatureFlagSource may not be who may read the Secret, and would otherwise
 * have the token sent to a server of theirs.
 */
export const hostsKey = "hosts";

const keySyntax = /^[-._a-zA-Z0-9]{1,253}$/;

export function credentialsSecret({
  source,
  credentialsSecretRef: { name, key: given = "" } = { name: "" },
}: SourceEntry): CredentialsSecret | SourceProblem {
  const key = given === "" ? "token" : given;
  const problem = (message: string): SourceProblem => ({
    reason: "InvalidName",
    message: `the source ${quoted(source)} is left out: ${message}`,
  });
  if (!isObjectName(name))
    return problem(`${quoted(name)} can't be the name of a Secret; correct its credentialsSecretRef`);
  if (!keySyntax.test(key) || key.startsWith("..") || key === "." || key === hostsKey)
    return problem(
      `${quoted(key)} can't be the key of a token in a Secret, where ${hostsKey} has the servers; correct the key of its credentialsSecretRef`,
    );
  const directory = `${credentialsDirectory}/${name}`;
  return { name, key, tokenFile: `${directory}/${key}`, hostsFile: `${directory}/${hostsKey}` };
}
