//! The driver API as far as replays need it: a context, memory, modules, launches. What a kernel does wrong costs
//! the context on the device, and no memory of this process.
#![allow(unsafe_code, reason = "a driver is a C library")]

use super::probe::{NoGpu, refused};
use crate::replay::run::Trouble;
use cudarc::driver::{DriverError, result, sys};
use std::ffi::{CString, c_void};
use std::marker::PhantomData;

/// What this process may do on the GPU.
pub(crate) struct Context {
    device: sys::CUdevice,
    own: sys::CUcontext,
}

/// Numbers that mean the same here and there.
pub(crate) trait Plain: Copy + Default {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for f32 {}
impl Plain for f64 {}
impl<T: Plain, const N: usize> Plain for [T; N] where [T; N]: Default {}

impl Context {
    /// The context of the first GPU. Only after [`super::probe::probe`] has found it.
    pub(crate) fn open() -> Result<Context, NoGpu> {
        Context::of(0)
    }

    /// Of one of the GPUs, counted from zero.
    pub(crate) fn of(ordinal: i32) -> Result<Context, NoGpu> {
        let refused = |error: DriverError| refused(error.0 as u32);
        result::init().map_err(refused)?;
        let device = result::device::get(ordinal).map_err(refused)?;
        // SAFETY: the device is one that the driver gave; its context is released when this one is dropped.
        unsafe {
            let own = result::primary_ctx::retain(device).map_err(refused)?;
            result::ctx::set_current(own).map_err(refused)?;
            Ok(Context { device, own })
        }
    }

    pub(crate) fn name(&self) -> Result<String, Trouble> {
        result::device::get_name(self.device).map_err(trouble)
    }

    fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<u32, Trouble> {
        // SAFETY: the device is one that the driver gave.
        let value = unsafe { result::device::get_attribute(self.device, attribute) }.map_err(trouble)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Such as 9 and 0 of `sm_90`.
    pub(crate) fn capability(&self) -> Result<(u32, u32), Trouble> {
        use sys::CUdevice_attribute as Attribute;
        Ok((
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    pub(crate) fn processors(&self) -> Result<u32, Trouble> {
        self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    }

    /// Free bytes, and all.
    pub(crate) fn memory(&self) -> Result<(u64, u64), Trouble> {
        let (free, total) = result::mem_get_info().map_err(trouble)?;
        Ok((free as u64, total as u64))
    }

    /// What another context of this process takes.
    pub(crate) fn price_of_a_context(&self) -> Result<u64, Trouble> {
        let (before, _) = self.memory()?;
        // SAFETY: the second context is gone, and ours is current again, before anything else is done.
        unsafe {
            let second = result::ctx::create_v3(0, self.device).map_err(trouble)?;
            let after = self.memory();
            let destroyed = sys::cuCtxDestroy_v2(second).result();
            result::ctx::set_current(self.own).map_err(trouble)?;
            destroyed.map_err(trouble)?;
            Ok(before.saturating_sub(after?.0))
        }
    }

    /// In what steps memory is handed out: how much is gone with the first small piece that shows.
    pub(crate) fn granule(&self) -> Result<u64, Trouble> {
        const PIECE: usize = 64 << 10;
        let (before, _) = self.memory()?;
        let mut held = Vec::new();
        for _ in 0..64 {
            held.push(Buffer::<u32>::new(self, PIECE / 4)?);
            let (free, _) = self.memory()?;
            if free < before {
                return Ok(before - free);
            }
        }
        Ok(0)
    }

    /// Waits for what was launched, and hears of its faults.
    fn wait(&self) -> Result<(), Trouble> {
        result::ctx::synchronize().map_err(trouble)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once, released once. A context that a fault has killed goes with the process.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// All bytes of one of the GPUs, which needs no context.
pub(crate) fn memory_of(ordinal: i32) -> Option<u64> {
    let device = result::device::get(ordinal).ok()?;
    // SAFETY: the device is one that the driver gave.
    let total = unsafe { result::device::total_mem(device) }.ok()?;
    u64::try_from(total).ok()
}

/// Memory of the device.
pub(crate) struct Buffer<'a, T> {
    at: sys::CUdeviceptr,
    count: usize,
    context: PhantomData<(&'a Context, T)>,
}

impl<'a, T: Plain> Buffer<'a, T> {
    /// Not cleared. Of nothing it is one element, as drivers give no memory of no size.
    pub(crate) fn new(_: &'a Context, count: usize) -> Result<Buffer<'a, T>, Trouble> {
        let bytes = count.max(1).saturating_mul(size_of::<T>());
        // SAFETY: freed when dropped, while the context lives.
        let at = unsafe { result::malloc_sync(bytes) }.map_err(trouble)?;
        Ok(Buffer { at, count, context: PhantomData })
    }

    pub(crate) fn of(context: &'a Context, values: &[T]) -> Result<Buffer<'a, T>, Trouble> {
        let buffer = Buffer::new(context, values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    pub(crate) fn write(&self, values: &[T]) -> Result<(), Trouble> {
        // More would be written past its end.
        let values = &values[..values.len().min(self.count)];
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer holds so many elements of this type, and the copy is done when this returns.
        unsafe { result::memcpy_htod_sync(self.at, values) }.map_err(trouble)
    }

    pub(crate) fn read(&self) -> Result<Vec<T>, Trouble> {
        let mut values = vec![T::default(); self.count];
        // SAFETY: as above; what is read are plain numbers, of which any bits are one.
        unsafe { result::memcpy_dtoh_sync(&mut values, self.at) }.map_err(trouble)?;
        Ok(values)
    }

    /// As an argument of a kernel.
    pub(crate) fn address(&self) -> u64 {
        self.at
    }
}

impl<T> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once. After a fault nothing can be freed, and the process ends.
        let _ = unsafe { result::free_sync(self.at) };
    }
}

/// Kernels on the device.
pub(crate) struct Module<'a> {
    own: sys::CUmodule,
    context: &'a Context,
}

#[derive(Clone, Copy)]
pub(crate) struct Kernel(sys::CUfunction);

impl<'a> Module<'a> {
    /// Of PTX or of a cubin.
    pub(crate) fn load(context: &'a Context, image: &[u8]) -> Result<Module<'a>, Trouble> {
        let mut image = image.to_vec();
        // PTX is a text, which ends with a zero.
        image.push(0);
        // SAFETY: the driver copies what it needs of the image before it returns.
        let own = unsafe { result::module::load_data(image.as_ptr().cast()) }.map_err(trouble)?;
        Ok(Module { own, context })
    }

    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel, Trouble> {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded as long as this one lives, and kernels are not kept longer.
        unsafe { result::module::get_function(self.own, name) }.map(Kernel).map_err(trouble)
    }

    /// Runs a kernel of this module and waits for it. Arguments are words, of which smaller ones take the first
    /// bytes, as on every machine that CUDA runs on.
    pub(crate) fn launch(
        &self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        arguments: &mut [u64],
    ) -> Result<(), Trouble> {
        let mut pointers: Vec<*mut c_void> =
            arguments.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        let grid = (blocks, 1, 1);
        let block = (threads, 1, 1);
        // SAFETY: the arguments outlive the launch, which is waited for. A kernel that is called with others than
        // it takes faults on the device.
        unsafe { result::launch_kernel(kernel.0, grid, block, 0, result::stream::null(), &mut pointers) }
            .map_err(trouble)?;
        self.context.wait()
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: loaded once, unloaded once.
        let _ = unsafe { result::module::unload(self.own) };
    }
}

/// What the driver says, and whether anything can go on after it.
fn trouble(error: DriverError) -> Trouble {
    let code = error.0 as u32;
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.ok().map(|text| text.to_string_lossy().into_owned())
    };
    let name = text(error.error_name()).unwrap_or_default();
    let reason = match code {
        2 => "the GPU ran out of memory".to_owned(),
        _ => {
            let told = text(error.error_string()).unwrap_or_default();
            format!("the GPU reported {name} ({code}): {told}")
        }
    };
    // After a fault every call gives its code, until the process ends.
    Trouble { reason, lost: !matches!(code, 1 | 2 | 200 | 209 | 218 | 222 | 500), out_of_memory: code == 2 }
}
