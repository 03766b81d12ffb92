/** The oldest Node.js that everything here runs on, as in `engines` of package.json. */
export const LEAST_NODE = "22.19";

/** Whether a version such as `24.1.0` is new enough. */
export function isRecentNode(version: string): boolean {
	const [leastMajor = 0, leastMinor = 0] = LEAST_NODE.split(".").map(Number);
	const [major = 0, minor = 0] = version.split(".").map(Number);
	return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** Throws what to do about a version that is too old, before something fails in a way that explains nothing. */
export function requireNode(version: string): void {
	if (isRecentNode(version)) return;
	throw new Error(`Node.js ${LEAST_NODE} or newer is needed, this is ${version}`);
}
