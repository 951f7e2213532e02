import { openDialog } from "../parts/dialog.js";
import { Help } from "../parts/help.js";

export const sendTo = (row) => openDialog(Help, { row });
