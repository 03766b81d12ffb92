export const PI_PACKAGE = "@earendil-works/pi-coding-agent";

/** The tested versions of pi. */
export const SUPPORTED_PI = "0.87.1 and 1.5.0";

export function piFault(version: string): string | undefined {
	return isAllowed(version) ? undefined : unusablePi(version);
}

export function unusablePi(version: string): string {
	return `pi ${version} was found, but it is not supported (supported: ${SUPPORTED_PI})`;
}

export function isTestedPi(version: string): boolean {
	const [major, minor] = numbersOf(version);
	return isAllowed(version) && ["0.87", "1.5"].includes(`${major}.${minor}`);
}

/** The range in `peerDependencies`: from 0.87.1, below 2. It includes untested versions, which may work. */
function isAllowed(version: string): boolean {
	const [major, minor, patch] = numbersOf(version);
	if (major === 0) return minor > 87 || (minor === 87 && patch >= 1);
	return major === 1;
}

function numbersOf(version: string): [major: number, minor: number, patch: number] {
	const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/, 3).map(Number);
	return [major, minor, patch];
}
