/** The name of pi's package. */
export const PI_PACKAGE = "@earendil-works/pi-coding-agent";

/** The versions of pi that everything here is tested with. */
export const SUPPORTED_PI = "0.87.1 and 1.5.0";

/** The versions that are not refused, as in `peerDependencies`: what lies between and after the tested ones may work. */
export const ALLOWED_PI = ">=0.87.1 <2";

/** Why a pi of this version is refused, in one sentence; `undefined` when it is not. */
export function piFault(version: string): string | undefined {
	return isAllowed(version) ? undefined : unusablePi(version);
}

/** What to say of a pi that does not have what we need. */
export function unusablePi(version: string): string {
	return `pi ${version} was found, which cannot be used; supported are ${SUPPORTED_PI}`;
}

/** Whether this version is a tested one, or a patch of one. */
export function isTestedPi(version: string): boolean {
	const [major, minor] = numbersOf(version);
	return isAllowed(version) && ["0.87", "1.5"].includes(`${major}.${minor}`);
}

function isAllowed(version: string): boolean {
	const [major, minor, patch] = numbersOf(version);
	if (major === 0) return minor > 87 || (minor === 87 && patch >= 1);
	return major === 1;
}

function numbersOf(version: string): [major: number, minor: number, patch: number] {
	const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/, 3).map(Number);
	return [major, minor, patch];
}
