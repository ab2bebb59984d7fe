import { managedBy } from "../api/names.js";

/** By which the open-feature-operator, and this one, recognise what they made: it must be on all objects. */
export const managedLabels = Object.freeze({ [managedBy.label]: managedBy.value });
