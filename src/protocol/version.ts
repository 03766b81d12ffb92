/** The version announced in `server_ready`. In a file of its own, since the client does not load schemas. */
export const PROTOCOL_VERSION = "1.0.0";
