import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Cluster, Context, KubeConfig, User } from "@kubernetes/client-node";
import { messageOf } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";

/** The parts of one or several kubeconfig files that one context names. */
export interface KubeconfigSelection {
  readonly cluster: Cluster;
  readonly user: User | undefined;
  /** The user as it is written, for what client-node does not know. */
  readonly rawUser: RawUser | undefined;
  readonly tokenFile: string | undefined;
  /** A new KubeConfig with just these parts, which has not run any plugin yet. */
  fresh(): KubeConfig;
}

interface Entry {
  readonly name: string;
}
/** Its fields by their names in the file. */
type RawUser = Readonly<Record<string, unknown>>;
interface LoadedFile {
  readonly config: KubeConfig;
  /** The directory that its paths are relative to. */
  readonly directory: string;
  readonly rawUsers: readonly (Entry & { readonly user?: RawUser | null })[];
}
type ClientNode = typeof import("./client-node.js");

/**
 * Reads kubeconfig files, merged as kubectl merges them: the first file to name something wins. client-node costs 80 MB once loaded, so it
 * is loaded only here, when a kubeconfig is used.
 */
export async function readKubeconfig(
  files: readonly string[],
  context: string | undefined,
): Promise<KubeconfigSelection> {
  const library = await import("./client-node.js");
  const loaded = await Promise.all(files.map((file) => load(library, file)));
  const where = files.join(", ");
  const name =
    context ??
    loaded
      .map(({ config }) => config.currentContext)
      .find((each) => (each as unknown) !== undefined && each !== "");
  if (name === undefined)
    throw invalid(`${where} has no current-context: set it, or name a context with --kube-context`);
  const contexts = loaded.flatMap(({ config }) => config.contexts);
  const chosen = named<Context>(contexts, name);
  if (chosen === undefined)
    throw invalid(
      `${where} has no context ${name}; it has ${contexts.map((each) => each.name).join(", ") || "none"}`,
    );
  const cluster = named<Cluster>(
    loaded.flatMap(({ config }) => config.clusters),
    chosen.cluster,
  );
  if (cluster === undefined)
    throw invalid(`${where}: context ${name} names the cluster ${chosen.cluster}, which it does not define`);
  const user = named<User>(
    loaded.flatMap(({ config }) => config.users),
    chosen.user,
  );
  if (user === undefined && (chosen.user as string | undefined))
    throw invalid(`${where}: context ${name} names the user ${chosen.user}, which it does not define`);
  const owner = loaded.find(({ rawUsers }) => named(rawUsers, chosen.user) !== undefined);
  const rawUser = named(owner?.rawUsers ?? [], chosen.user)?.user ?? undefined;
  const tokenFile = rawUser?.["tokenFile"];
  return {
    cluster,
    user,
    rawUser,
    tokenFile: typeof tokenFile === "string" ? path.resolve(owner?.directory ?? "", tokenFile) : undefined,
    fresh: () => {
      const config = new library.KubeConfig();
      config.loadFromClusterAndUser(cluster, user ?? { name: "nobody" });
      return config;
    },
  };
}

async function load(library: ClientNode, file: string): Promise<LoadedFile> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw invalid(
      `the kubeconfig ${file} can't be read: ${messageOf(cause)}; name one that this user may read with --kubeconfig or KUBECONFIG`,
      cause,
    );
  }
  try {
    const config = new library.KubeConfig();
    config.loadFromString(text);
    const directory = path.dirname(path.resolve(file));
    config.makePathsAbsolute(directory);
    const { users } = library.loadYaml<{ readonly users?: LoadedFile["rawUsers"] | null }>(text);
    return { config, directory, rawUsers: users ?? [] };
  } catch (cause) {
    throw invalid(`the kubeconfig ${file} can't be used: ${messageOf(cause)}`, cause);
  }
}

function named<T extends Entry>(entries: readonly T[], name: string): T | undefined {
  return entries.find((entry) => entry.name === name);
}

function invalid(message: string, cause?: unknown): KubeError {
  return KubeError.configInvalid(message, { cause });
}
