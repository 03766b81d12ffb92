import { textOf } from "../error-text.ts";
import { toast } from "./toasts.tsx";

/** Waits for something, and tells the user when it fails. Resolves to undefined then. */
export async function reporting<Result>(work: Promise<Result>): Promise<Result | undefined> {
	try {
		return await work;
	} catch (error) {
		toast(textOf(error), "error");
		return undefined;
	}
}
