import { expect, test } from "vitest";
import { lockedPackages, registryTrouble } from "./npm.ts";

const known = new Set(["typebox", "@hyzyla/pdfium"]);

function notFound(name: string): string {
	return [
		"npm error code E404",
		`npm error 404 Not Found - GET https://registry.example/${name.replace("/", "%2f")}`,
		"npm error 404",
		`npm error 404  The requested resource '${name}@1.5.0' could not be found or you do not have permission to access it.`,
	].join("\n");
}

test.each([
	["a registry that is busy", "npm error code E429\nnpm error 429 Too Many Requests", "E429"],
	["one that is broken", "npm warn x\nnpm error code E503\nnpm error 503", "E503"],
	["one that is not reached", "npm error code EAI_AGAIN\nnpm error request to …", "EAI_AGAIN"],
	["a connection that broke", "npm error code ECONNRESET\nnpm error network", "ECONNRESET"],
	["one that lacks what it had", notFound("typebox"), "E404 for typebox"],
	["the same in a scope", notFound("@hyzyla/pdfium"), "E404 for @hyzyla/pdfium"],
	[
		"one that lacks a version",
		"npm error code ETARGET\nnpm error notarget No matching version found for typebox@1.3.27.",
		"ETARGET for typebox",
	],
])("%s is to blame", (_what, printed, trouble) => {
	expect(registryTrouble(printed, known)).toBe(trouble);
});

test.each([
	["a package that nothing of ours should ask for", notFound("@earendil-works/pi-schema")],
	["a conflict of versions", "npm error code ERESOLVE\nnpm error could not resolve"],
	["a script that fails", "npm error code 1\nnpm error path /x"],
	["something else", "out of memory"],
])("%s is our own fault", (_what, printed) => {
	expect(registryTrouble(printed, known)).toBeUndefined();
});

test("of pi's packages none is among those that an installed pi-strata needs", () => {
	const ofPi = (name: string) => name.startsWith("@earendil-works/");
	expect([...lockedPackages("production")].filter(ofPi)).toEqual([]);
	expect([...lockedPackages("all")].filter(ofPi)).toContain("@earendil-works/pi-coding-agent");
	expect(lockedPackages("production")).toContain("@hyzyla/pdfium");
});
