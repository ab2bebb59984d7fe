import { isNamespaceName } from "@bunting/protocol";
import { hostAndPort, list, quoted, text, type ValueType } from "@bunting/runtime";
import { redisFileOptions, type RedisFile } from "./desired/proxy/proxy-redis.js";

/** An address to listen on. Without a host: all addresses of the machine. */
export interface BindAddress {
  readonly port: number;
  readonly host?: string;
}

/** `:8081`, `127.0.0.1:8081` or `[::1]:8081`, as Go writes addresses; `0` listens nowhere. */
export const bindAddress: ValueType<BindAddress | "off"> = {
  ...fromText("address", readAddress),
  show: (value) => (value === "off" ? "0" : hostAndPort(value.host ?? "", value.port)),
};

function readAddress(value: string): BindAddress | "off" {
  if (value === "0") return "off";
  const [, marked, plain = "", digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(value) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535)
    throw new Error(
      `expected an address such as :8081, 127.0.0.1:8081 or [::1]:8081, or 0, got ${quoted(value)}`,
    );
  const host = marked ?? plain;
  return Object.freeze(host === "" ? { port } : { port, host });
}

/** A quantity as Kubernetes writes it: `200m`, `0.5`, `64Mi`. Empty: none is set. */
export const quantity: ValueType<string> = {
  ...fromText("quantity", (value) => {
    if (value !== "" && !/^\d+(?:\.\d+)?(?:m|k|Ki|[MGTPE]i?|e\d+)?$/.test(value))
      throw new Error(`expected a quantity such as 200m, 0.5 or 64Mi, got ${quoted(value)}`);
    return value;
  }),
  show: (value) => (value === "" ? "none" : value),
};

/** `key:value,key:value`, as the open-feature-operator writes labels and annotations. The first colon of a pair ends its key. */
export const colonMapping: ValueType<Readonly<Record<string, string>>> = {
  placeholder: "key:value",
  isSwitch: false,
  fromTexts: (texts) =>
    Object.freeze(
      Object.fromEntries(
        texts
          .flatMap((each) => each.split(","))
          .filter(Boolean)
          .map(readPair),
      ),
    ),
  fromConfig: (value) => {
    if (typeof value === "string") return colonMapping.fromTexts([value]);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new Error("expected a map of texts");
    return Object.freeze(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one)])));
  },
  show: (value) => {
    const pairs = Object.entries(value).map(([key, one]) => `${key}:${one}`);
    return pairs.length === 0 ? "none" : pairs.join(",");
  },
};

/** Names of namespaces; empty: none. */
export const namespaces: ValueType<readonly string[]> = {
  ...list,
  placeholder: "namespace,…",
  fromTexts: (texts) => readNamespaces(list.fromTexts(texts)),
  fromVariable: (value) => readNamespaces(list.fromVariable?.(value) ?? [value]),
  fromConfig: (value) => readNamespaces(list.fromConfig(value)),
};

function readNamespaces(names: readonly string[]): readonly string[] {
  const wrong = names.find((name) => !isNamespaceName(name));
  if (wrong !== undefined) throw new Error(`expected names of namespaces, got ${quoted(wrong)}`);
  return Object.freeze([...new Set(names)]);
}

/** Keys of the Secret about Redis that are files; empty: none. */
export const redisFiles: ValueType<readonly RedisFile[]> = {
  ...list,
  placeholder: "key,…",
  fromTexts: (texts) => readFiles(list.fromTexts(texts)),
  fromVariable: (value) => readFiles(list.fromVariable?.(value) ?? [value]),
  fromConfig: (value) => readFiles(list.fromConfig(value)),
};

function readFiles(keys: readonly string[]): readonly RedisFile[] {
  return Object.freeze(
    [...new Set(keys)].map((file) => {
      if (!Object.hasOwn(redisFileOptions, file))
        throw new Error(`expected some of ${Object.keys(redisFileOptions).join(", ")}, got ${quoted(file)}`);
      return file as RedisFile;
    }),
  );
}

function readPair(pair: string): [string, string] {
  const at = pair.indexOf(":");
  if (at <= 0) throw new Error(`expected key:value, got ${quoted(pair)}`);
  return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

/** The last of several values wins, as in Go. */
function fromText<T>(placeholder: string, read: (value: string) => T): Omit<ValueType<T>, "show"> {
  return {
    placeholder,
    isSwitch: false,
    fromTexts: (texts) => read(texts.at(-1) ?? ""),
    fromConfig: (value) => read(text.fromConfig(value)),
  };
}
