import { KubeError, type ObjectScope, type ResourceScope } from "@bunting/kube";
import type { SecretObject } from "./secret-content.js";

/** An API server with one Secret, in which others may write between a read and a write. */
export class Secrets {
  secret: SecretObject | undefined;
  writes = 0;
  beforeWrite: (() => void) | undefined;
  #version = 0;

  get(): Promise<SecretObject> {
    if (this.secret === undefined) return Promise.reject(new KubeError("NOT_FOUND", "there is none"));
    return Promise.resolve(this.secret);
  }

  create(_scope: ResourceScope, object: object): Promise<SecretObject> {
    this.#interfere();
    if (this.secret !== undefined) return Promise.reject(new KubeError("CONFLICT", "there is one"));
    return Promise.resolve(this.put(object as SecretObject));
  }

  update(_scope: ObjectScope, object: object): Promise<SecretObject> {
    this.#interfere();
    const { resourceVersion } = (object as SecretObject).metadata;
    if (resourceVersion !== this.secret?.metadata.resourceVersion)
      return Promise.reject(new KubeError("CONFLICT", "it has changed"));
    return Promise.resolve(this.put(object as SecretObject));
  }

  put(object: SecretObject): SecretObject {
    this.writes++;
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    return (this.secret = { ...object, metadata });
  }

  #interfere(): void {
    const { beforeWrite } = this;
    this.beforeWrite = undefined;
    beforeWrite?.();
  }
}
