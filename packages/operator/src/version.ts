/** The version of this package. The bundler puts it here; without a bundle, in tests, there is none. */
export const version = process.env["BUNTING_BUILD"] ?? "0.0.0-source";
