//! Where tensors and modules lie, and what put them there.

use super::tensor::Tensor;
use crate::report::Place;

/// Where a tensor or module lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Device {
    Cpu,
    Cuda(Option<u32>),
    /// `cuda if available else cpu`, and what a launcher hands out: the GPU wherever it matters.
    Accelerator,
    /// On the GPU on one way of a branch, `if cuda: model.cuda()`, and on the CPU on the other.
    Chosen,
    /// On the GPU, put there by a framework that copies between devices by itself.
    Automatic,
    #[default]
    Unknown,
}

/// What stands for a device in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceForm {
    /// An object such as a `torch.device`, which equals no string.
    Object,
    /// Such an object, of a module that is still being made: where it will be moved later nobody has said.
    OfMaking,
    /// It may as well be a string.
    Unsure,
}

impl DeviceForm {
    pub fn join(self, other: DeviceForm) -> DeviceForm {
        if self == other { self } else { DeviceForm::Unsure }
    }
}

impl Device {
    /// `cuda:1`, `cpu`, `accelerator`, and the longer `/job:worker/device:GPU:0` whose last part says it.
    pub fn named(name: &str) -> Device {
        let last = name.rsplit('/').next().unwrap_or(name);
        let last = last.strip_prefix("device:").unwrap_or(last);
        let (kind, index) = last.split_once(':').unwrap_or((last, ""));
        if kind.eq_ignore_ascii_case("cpu") {
            Device::Cpu
        } else if kind.eq_ignore_ascii_case("cuda") || kind.eq_ignore_ascii_case("gpu") {
            Device::Cuda(index.parse().ok())
        } else if matches!(kind, "accelerator" | "mps" | "xpu" | "hpu" | "npu") {
            Device::Accelerator
        } else {
            Device::Unknown
        }
    }

    /// What a script that chooses between two devices runs on where it matters: the GPU.
    pub fn choice(self, other: Device) -> Device {
        match (self, other) {
            (Device::Unknown, _) | (_, Device::Unknown) => Device::Unknown,
            _ if self == other => self,
            _ => Device::Accelerator,
        }
    }

    pub fn is_gpu(self) -> bool {
        matches!(self, Device::Cuda(_) | Device::Accelerator | Device::Chosen | Device::Automatic)
    }

    /// A GPU that the script chose: what a framework places by itself, or one way of a branch, it may place elsewhere.
    pub fn is_chosen_gpu(self) -> bool {
        matches!(self, Device::Cuda(_) | Device::Accelerator)
    }

    /// One is surely not the other, on a machine where both exist.
    pub fn differs(self, other: Device) -> bool {
        match (self, other) {
            (Device::Automatic, _) | (_, Device::Automatic) => false,
            (Device::Cpu, gpu) | (gpu, Device::Cpu) => gpu.is_gpu(),
            (Device::Cuda(Some(a)), Device::Cuda(Some(b))) => a != b,
            _ => false,
        }
    }

    pub fn join(self, other: Device) -> Device {
        match (self, other) {
            _ if self == other => self,
            (Device::Automatic, _) | (_, Device::Automatic) => Device::Unknown,
            (Device::Chosen, gpu) | (gpu, Device::Chosen) if gpu.is_gpu() => Device::Chosen,
            (a, b) if a.is_gpu() && b.is_gpu() => Device::Accelerator,
            _ => Device::Unknown,
        }
    }

    pub fn describe(self) -> String {
        match self {
            Device::Cpu => "the CPU".into(),
            Device::Cuda(Some(index)) => format!("GPU {index}"),
            Device::Cuda(None) | Device::Accelerator | Device::Automatic => "the GPU".into(),
            Device::Chosen => "the GPU where the script asks for one".into(),
            Device::Unknown => "an unknown device".into(),
        }
    }
}

/// Where a tensor is when nobody has said a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceOrigin {
    /// Where the framework makes tensors by default, the CPU. `whole` says that it is more than a number,
    /// `joined` that on another way it is something else.
    Default { made: Place, whole: bool, joined: bool },
    /// Where the model is: its forward was given it, or one of its layers made it.
    Module,
}

impl DeviceOrigin {
    /// Of what is computed from these.
    pub fn of_all(operands: &[&Tensor]) -> Option<DeviceOrigin> {
        let whole = || operands.iter().filter(|operand| operand.rank() != Some(0));
        if whole().any(|operand| operand.device_origin == Some(DeviceOrigin::Module)) {
            return Some(DeviceOrigin::Module);
        }
        // Whatever it meets is on the CPU, too, or the operation fails.
        let stray = operands.iter().find(|operand| operand.on_default_device());
        if let Some(DeviceOrigin::Default { made, joined, .. }) = stray.and_then(|stray| stray.device_origin)
            && !whole().any(|operand| operand.device.is_gpu())
        {
            return Some(DeviceOrigin::Default { made, whole: false, joined });
        }
        let first = whole().next()?.device_origin?;
        let stay = whole().all(|operand| matches!(operand.device_origin, Some(DeviceOrigin::Default { .. })));
        match first {
            // What it becomes may be one number.
            DeviceOrigin::Default { made, joined, .. } if stay => {
                Some(DeviceOrigin::Default { made, whole: false, joined })
            }
            _ => None,
        }
    }

    /// Of what is one or the other: where one way leaves it on the CPU, that way fails.
    pub(super) fn join(one: &Tensor, other: &Tensor) -> Option<DeviceOrigin> {
        let (first, second) = (one.device_origin?, other.device_origin?);
        let both = first != DeviceOrigin::Module && second != DeviceOrigin::Module;
        let stays = |tensor: &Tensor, device_origin: DeviceOrigin| match device_origin {
            DeviceOrigin::Default { made, joined, .. } => Some(DeviceOrigin::Default {
                made,
                whole: tensor.on_default_device(),
                joined: joined || !both,
            }),
            DeviceOrigin::Module => None,
        };
        stays(one, first).or(stays(other, second)).or(Some(DeviceOrigin::Module))
    }
}
