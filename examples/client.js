// Loads the client library for the other examples: its source in a clone, compiled JavaScript in the package. Your own
// program imports "pi-strata/dist/protocol/client.js".

import { existsSync } from "node:fs";

const isClone = existsSync(new URL("../src/protocol/client.ts", import.meta.url));

/** @typedef {import("../src/protocol/client.ts").Transport} Transport */

/** @type {typeof import("../src/protocol/client.ts")} */
const library = await import(isClone ? "../src/protocol/client.ts" : "../dist/protocol/client.js");

export const { ClientError, createClient, webSocketTransport } = library;
