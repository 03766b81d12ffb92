import type { IncomingMessage } from "node:http";

export const LINK_PATH = "/link";

/** Whether the request is an upgrade by another server. */
export function isLinkRequest({ url }: IncomingMessage): boolean {
	return url?.split(/[?#]/, 1)[0]?.endsWith(LINK_PATH) === true;
}
