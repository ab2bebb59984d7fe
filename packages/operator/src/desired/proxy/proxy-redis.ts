/** A Secret of the operator's namespace, by which the proxy's replicas share a Redis. */
export interface RedisSecret {
  readonly name: string;
  /** Which files the proxy is told of, beside the address, that each such Secret has. */
  readonly files: readonly RedisFile[];
}

/** The keys of the Secret that are files, and the option of the proxy that each is for. */
export const redisFileOptions = Object.freeze({
  user: "backplane-user-file",
  password: "backplane-password-file",
  "sentinel-user": "backplane-sentinel-user-file",
  "sentinel-password": "backplane-sentinel-password-file",
  "ca.crt": "backplane-ca-file",
  "tls.crt": "backplane-cert-file",
  "tls.key": "backplane-tls-key-file",
  "signing-keys": "backplane-key-file",
});

export type RedisFile = keyof typeof redisFileOptions;

/** The option that the key `address` is for. */
const addressOption = "backplane";
const addressKey = "address";
const mount = { name: "redis", mountPath: "/etc/bunting/backplane", readOnly: true };

/** What the proxy's Pods have of Secrets. */
export interface SecretParts {
  readonly env: readonly object[];
  readonly mounts: readonly object[];
  readonly volumes: readonly object[];
}

/**
 * The Secret, as variables and files: no argument shows it, and the open-feature-operator's proxy ignores it. Pods start once the Secret has all of it, because
 * one that started before would not hear of the address; those that run go on without the Secret.
 */
export function proxyRedis(secret: RedisSecret | undefined): SecretParts {
  if (secret === undefined) return { env: [], mounts: [], volumes: [] };
  const { name, files } = secret;
  const address = { secretKeyRef: { name, key: addressKey } };
  const items = files.map((file) => ({ key: file, path: file }));
  return {
    env: [
      { name: variableOf(addressOption), valueFrom: address },
      ...files.map((file) => ({
        name: variableOf(redisFileOptions[file]),
        value: `${mount.mountPath}/${file}`,
      })),
    ],
    mounts: files.length === 0 ? [] : [mount],
    // Without items the volume would be the whole Secret, of which the proxy is to have no more than it is told of.
    volumes: files.length === 0 ? [] : [{ name: mount.name, secret: { secretName: name, items } }],
  };
}

/** The options of the proxy that the Secret is for; as arguments they would win over it. */
export function redisOptions({ files }: RedisSecret): readonly string[] {
  return [addressOption, ...files.map((file) => redisFileOptions[file])];
}

function variableOf(option: string): string {
  return `BUNTING_${option.toUpperCase().replaceAll("-", "_")}`;
}
