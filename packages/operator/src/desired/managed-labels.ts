import { managedBy } from "../api/names.js";

/** The label by which the open-feature-operator, and this one, recognise what they made: all objects must have it. */
export const managedLabels = Object.freeze({ [managedBy.label]: managedBy.value });
