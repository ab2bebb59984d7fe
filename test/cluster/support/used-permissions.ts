import { readFileSync } from "node:fs";
import type { Permission } from "@bunting/operator/internal/permission.js";

/** What a request did, as roles name it. */
export interface UsedPermission {
  readonly verb: string;
  readonly apiGroup: string;
  /** With the subresource, as `pods/status`. */
  readonly resource: string;
  /** Empty if the request was for no single object. */
  readonly name: string;
  readonly namespace: string;
  readonly status: number;
}

/** An audit policy by which all requests of these users are recorded. */
export function auditPolicyOf(...users: readonly string[]): object {
  return {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [{ level: "Metadata", users }, { level: "None" }],
  };
}

interface AuditLine {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
    readonly namespace?: string;
  };
  readonly requestURI: string;
  readonly responseStatus?: { readonly code?: number };
}

/** A user's requests for resources in an audit log. */
export function usedPermissions(file: string, username: string): readonly UsedPermission[] {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  return lines.flatMap((line) => {
    const { verb, user, objectRef, requestURI, responseStatus } = JSON.parse(line) as AuditLine;
    if (objectRef?.resource === undefined || user.username !== username) return [];
    const { apiGroup = "", resource, subresource, name, namespace = "" } = objectRef;
    // A list or watch of one name is authorized as if it were for that object.
    const selected = /[?&]fieldSelector=metadata\.name%3D([^&%]+)/.exec(requestURI)?.[1];
    const full = subresource === undefined ? resource : `${resource}/${subresource}`;
    return [
      {
        verb,
        apiGroup,
        resource: full,
        name: name ?? selected ?? "",
        namespace,
        status: responseStatus?.code ?? 0,
      },
    ];
  });
}

/** `apiGroup/resource[/name] verb` for each verb that none of the requests needed. */
export function unusedGrants(granted: readonly Permission[], used: readonly UsedPermission[]): string[] {
  const isUsed = (permission: Permission, resource: string, verb: string): boolean =>
    used.some((each) => {
      if (each.apiGroup !== permission.apiGroup || each.resource !== resource) return false;
      if (permission.names?.includes(each.name) === false) return false;
      if (each.verb === verb) return true;
      // An apply that creates needs both. A watch begins with a list, which this API server does by itself and others have to be asked for.
      return (
        (verb === "create" && each.verb === "patch" && each.status === 201) ||
        (verb === "list" && each.verb === "watch")
      );
    });
  return granted.flatMap((permission) =>
    permission.resources.flatMap((resource) =>
      permission.verbs
        .filter((verb) => !isUsed(permission, resource, verb))
        .map((verb) => `${permission.apiGroup}/${resource}/${permission.names?.join(",") ?? ""} ${verb}`),
    ),
  );
}
