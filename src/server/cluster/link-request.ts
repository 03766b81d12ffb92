import type { IncomingMessage } from "node:http";

export const LINK_PATH = "/link";

/** Whether another server asks for a link. */
export function isLinkRequest({ url }: IncomingMessage): boolean {
	return url?.split(/[?#]/, 1)[0]?.endsWith(LINK_PATH) === true;
}
