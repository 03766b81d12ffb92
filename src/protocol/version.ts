/** Announced in `server_ready`. Separate file: the client loads no schemas. */
export const PROTOCOL_VERSION = "1.0.0";
